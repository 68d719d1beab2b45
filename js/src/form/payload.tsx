// What a tool gave when it suspended itself: text, or its values.
import { useMemo } from "preact/hooks";
import { Args } from "../args";
import { Gate } from "../gate";
import { type Node, parse } from "../json";
import { Revealed } from "../text";

export function Payload({ json }: { json: string }) {
  const node = useMemo(() => parse(json), [json]);
  const gate = useMemo(() => new Gate(), []);
  const text = textOf(node);
  if (text !== null) {
    return (
      <p class="question">
        <Revealed text={text} />
      </p>
    );
  }
  const message = node.kind === "object" ? node.entries.find(isMessage)?.[1] : undefined;
  const rest: Node =
    node.kind === "object"
      ? { ...node, entries: node.entries.filter((entry) => entry[1] !== message) }
      : node;
  return (
    <>
      {message?.kind === "str" && (
        <p class="question">
          <Revealed text={message.value} />
        </p>
      )}
      {!(rest.kind === "object" && rest.entries.length === 0) && (
        <Args args={rest} gate={gate} secrets={{}} />
      )}
    </>
  );
}

const isMessage = ([key, value]: [string, Node]): boolean =>
  ["message", "question", "prompt"].includes(key) && value.kind === "str";

const textOf = (node: Node): string | null => (node.kind === "str" ? node.value : null);

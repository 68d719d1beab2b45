// Decisions on several calls, sent as one message: whether it is on its way, what is said of it.
import { useState } from "preact/hooks";
import { useRefusal } from "./consent";
import type { Ack } from "./generated/messages";
import type { Question } from "./model";
import { Revealed } from "./text";
import { useUi } from "./ui";

export function useSending() {
  const { say, port } = useUi();
  const [said, setSaid] = useState<string | null>(null);
  const [sent, setSent] = useState(false);
  const { refusal, pressed, forget } = useRefusal();
  const send = (question: Question, answered: (ack: Ack | null) => void = () => {}) => {
    setSent(true);
    forget();
    setSaid(say("kernel.sending"));
    port
      .ask(question, () => setSaid(say("kernel.sent")))
      .then((answer) => {
        setSent(false);
        setSaid(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
        answered(answer.type === "ack" ? answer : null);
      });
  };
  const words = refusal ?? said;
  const status = (
    <p class="said" role="status">
      {words && <Revealed text={words} />}
    </p>
  );
  return { sent, send, pressed, status };
}

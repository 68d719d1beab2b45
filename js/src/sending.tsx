// Decisions on several calls, sent as one message: whether it is on its way, what is said of it.
import { useState } from "preact/hooks";
import { PRESSES } from "./consent";
import type { Ack } from "./generated/messages";
import type { Question } from "./model";
import type { Verdict } from "./press";
import { Revealed } from "./text";
import { useUi } from "./ui";

export function useSending() {
  const { say, port } = useUi();
  const [said, setSaid] = useState<string | null>(null);
  const [sent, setSent] = useState(false);
  const send = (question: Question, answered: (ack: Ack | null) => void = () => {}) => {
    setSent(true);
    setSaid(say("kernel.sending"));
    port
      .ask(question, () => setSaid(say("kernel.sent")))
      .then((answer) => {
        setSent(false);
        setSaid(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
        answered(answer.type === "ack" ? answer : null);
      });
  };
  /** A press that counts does it; another says why it does not. */
  const pressed = (verdict: Verdict, act: () => void) =>
    verdict === "counts" ? act() : setSaid(say(PRESSES[verdict]));
  const status = (
    <p class="said" role="status">
      {said && <Revealed text={said} />}
    </p>
  );
  return { sent, send, pressed, status };
}

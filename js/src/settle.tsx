// A call that started, and whose end nobody knows: a person says what became of it.
import { useRef, useState } from "preact/hooks";
import { Consent } from "./consent";
import type { Settle as Message, RequestView } from "./generated/messages";
import { Dialog, Understood } from "./menu";
import type { Life } from "./model";
import type { Verdict } from "./press";
import { useUi } from "./ui";
import type { Key } from "./words";

export function Settle({ view, life }: { view: RequestView; life: Life }) {
  const { say, port } = useUi();
  const [asked, setAsked] = useState(false);
  const [sent, setSent] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const draft = useRef({ text: "" });
  const shut = sent || life === "silent";
  const send = (how: Message["how"], text: string | null = null) => {
    if (shut) return;
    setSent(true);
    setSaid(say("kernel.sending"));
    port
      .ask({ type: "settle", request_id: view.id, how, text }, () => setSaid(say("kernel.sent")))
      .then((answer) => {
        setSent(answer.type === "ack");
        setSaid(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
      });
  };
  const again = (verdict: Verdict) =>
    verdict === "counts" ? send("run_again") : setSaid(say(`press.${verdict}` as Key));
  const status = (
    <p class="said" role="status">
      {said ?? (life === "silent" && say("kernel.silent"))}
    </p>
  );
  if (asked) {
    return (
      <Dialog
        name={say("dialog.settle")}
        field={say("dialog.field.result")}
        hint=""
        about={(text) => <Understood text={text} />}
        draft={draft.current}
        leave={() => setAsked(false)}
        status={status}
        button={(text) => (
          <button
            type="button"
            class="button strong"
            aria-disabled={shut}
            onClick={() => send("happened", text.trim() === "" ? null : text)}
          >
            {say("settle.happened")}
          </button>
        )}
      />
    );
  }
  return (
    <div class="foot">
      <button type="button" class="button" aria-disabled={shut} onClick={() => setAsked(!shut)}>
        {say("settle.happened")}
      </button>
      <Consent label={say("settle.again")} enabled={life === "alive"} busy={sent} press={again} />
      <button type="button" class="button" aria-disabled={shut} onClick={() => send("give_up")}>
        {say("settle.give_up")}
      </button>
      {status}
    </div>
  );
}

// A call that started, and whose end nobody knows: a person says what became of it.
import { useRef, useState } from "preact/hooks";
import { Consent, useRefusal } from "./consent";
import type { Settle as Message, RequestView } from "./generated/messages";
import { Dialog, Understood } from "./menu";
import type { Life } from "./model";
import type { Verdict } from "./press";
import { useUi } from "./ui";

export function Settle({ view, life }: { view: RequestView; life: Life }) {
  const { say, port } = useUi();
  const [asked, setAsked] = useState(false);
  const [sent, setSent] = useState(false);
  const [said, setSaid] = useState<string | null>(null);
  const { refusal, pressed, forget } = useRefusal();
  const draft = useRef({ text: "" });
  const shut = sent || life === "silent";
  const send = (how: Message["how"], text: string | null = null) => {
    if (shut) return;
    setSent(true);
    forget();
    setSaid(say("kernel.sending"));
    port
      .ask({ type: "settle", request_id: view.id, how, text }, () => setSaid(say("kernel.sent")))
      .then((answer) => {
        setSent(answer.type === "ack");
        setSaid(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
      });
  };
  const again = (verdict: Verdict) => pressed(verdict, () => send("run_again"));
  const ask = (on: boolean) => {
    forget();
    setAsked(on);
  };
  const status = (
    <p class="said" role="status">
      {refusal ?? said ?? (life === "silent" && say("kernel.silent"))}
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
        leave={() => ask(false)}
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
      <button type="button" class="button" aria-disabled={shut} onClick={() => ask(!shut)}>
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

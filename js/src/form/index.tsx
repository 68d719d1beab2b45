// A request for data: what was said, a form, and the buttons that answer it.
import { useRef, useState } from "preact/hooks";
import { Consent, useRefusal } from "../consent";
import type { Decider } from "../decide";
import type { RequestView, UnshownDoc } from "../generated/messages";
import { Dialog, Menu } from "../menu";
import type { Life } from "../model";
import type { Verdict } from "../press";
import { Revealed } from "../text";
import { useUi } from "../ui";
import { dropDraft } from "./draft";
import { Payload } from "./payload";
import { SchemaForm, type Sheet } from "./schema-form";

const draftOf = (view: RequestView): string => `${view.id}:${view.fingerprint}`;

/** Nobody will go on with what was typed into this form. */
export const forgetDraft = (view: RequestView): void => dropDraft(draftOf(view));

export interface FormProps {
  view: RequestView;
  decider: Decider;
  life: Life;
}

export function Form({ view, decider, life }: FormProps) {
  const { say } = useUi();
  const sheet = useRef<Sheet>(null);
  const { refusal, pressed, forget } = useRefusal();
  const [reasoning, setReasoning] = useState(false);
  const reason = useRef({ text: "" });
  const busy = decider.sending !== "idle";
  // As in any card: a yes needs a kernel that is known to listen, a no one that may (R12). Not
  // `disabled` meanwhile: a disabled control loses the keyboard's focus.
  const armed = life === "alive";
  const shut = busy || life === "silent";
  const errors = decider.failure?.errors ?? NONE;
  const draft = draftOf(view);
  const form = view.form;
  if (form === null) return null;

  const decline = (more: { reason?: string | null; stop?: boolean } = {}) => {
    if (shut) return;
    forget();
    decider.send({ verdict: "decline", ...more });
  };
  const submit = async () => {
    if (!armed || busy) return;
    const read = await sheet.current?.read();
    if (read) decider.send({ verdict: "answer", ...read });
  };
  const press = (verdict: Verdict) => pressed(verdict, submit);
  const ask = (on: boolean) => {
    forget();
    setReasoning(on);
  };
  const canDecline = view.allowed.includes("decline");
  const items = canDecline
    ? [
        { label: say("menu.reason"), choose: () => ask(true) },
        { label: say("menu.stop"), choose: () => decline({ stop: true }) },
      ]
    : [];
  const status = (
    <p class="said" role="status">
      {busy ? say("kernel.sending") : (refusal ?? countOf(errors.length, say))}
    </p>
  );
  return (
    <>
      {view.payload !== null && <Payload json={view.payload} />}
      <Unshown parts={form.unshown} />
      <SchemaForm
        form={form}
        errors={errors}
        sheet={sheet}
        draft={draft}
        {...(form.consent ? {} : { submit })}
      />
      {reasoning ? (
        <Dialog
          name={say("dialog.reason")}
          field={say("dialog.field.reason")}
          hint={say("dialog.hint.reason")}
          draft={reason.current}
          leave={() => ask(false)}
          status={status}
          button={(text) => (
            <button
              type="button"
              class="button strong"
              aria-disabled={shut}
              onClick={() => decline({ reason: text.trim() || null })}
            >
              {say("button.decline")}
            </button>
          )}
        />
      ) : (
        <div class="foot">
          {form.consent ? (
            <Consent label={say("button.submit")} enabled={armed} busy={busy} press={press} />
          ) : (
            <button
              type="button"
              class="button go"
              disabled={!armed}
              aria-disabled={busy}
              onClick={submit}
            >
              {say("button.submit")}
            </button>
          )}
          {canDecline && (
            <button type="button" class="button" aria-disabled={shut} onClick={() => decline()}>
              {say("button.decline")}
            </button>
          )}
          {status}
          <Menu name={say("button.more")} items={items} disabled={shut} />
        </div>
      )}
    </>
  );
}

const NONE: NonNullable<Decider["failure"]>["errors"] = [];

function countOf(n: number, say: ReturnType<typeof useUi>["say"]): string {
  return n === 0 ? "" : say("form.errors", { n });
}

/** Parts of the initial value that no control can show; they are sent with the rest. */
export function Unshown({ parts }: { parts: UnshownDoc[] }) {
  const { say } = useUi();
  if (parts.length === 0) return null;
  return (
    <div class="alert" role="alert">
      <p>{say("form.unshown")}</p>
      <ul>
        {parts.map((part) => (
          <li key={part.path.join("/")}>
            <Revealed text={part.path.length > 0 ? part.path.join(".") : say("form.whole")} />
            {": "}
            <code>
              <Revealed text={part.text} />
            </code>
          </li>
        ))}
      </ul>
    </div>
  );
}

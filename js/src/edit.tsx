// Other arguments than those proposed: a form, then what changes, then a yes to exactly that.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Blocked } from "./blocked";
import { Difference } from "./compare";
import { Consent } from "./consent";
import { SchemaForm, type Sheet } from "./form/schema-form";
import { Gate } from "./gate";
import type {
  DecisionDoc,
  Failure,
  FormDoc,
  Prepared,
  PreviewDoc,
  RequestView,
} from "./generated/messages";
import { Box } from "./menu";
import type { Verdict } from "./press";
import { PreviewOf } from "./preview";
import { Revealed } from "./text";
import { useRedraw, useUi } from "./ui";

export interface PreparingProps {
  view: RequestView;
  /** The kernel listens, and all of the call was reached. */
  armed: boolean;
  busy: boolean;
  consent: (decision: DecisionDoc, edited?: string | null) => (verdict: Verdict) => void;
  leave: () => void;
  status: preact.ComponentChild;
}

export function Edit({ view, armed, busy, consent, leave, status }: PreparingProps) {
  const { say, port, locale } = useUi();
  const [form, setForm] = useState<FormDoc | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [prepared, setPrepared] = useState<Prepared | null>(null);
  const [silent, setSilent] = useState(false);
  const [asking, setAsking] = useState(false);
  const sheet = useRef<Sheet>(null);
  const box = useRef<HTMLDivElement>(null);
  const changes = useRef<HTMLDivElement>(null);
  // A gate of its own: what stands here is gone when the person leaves.
  const gate = useMemo(() => new Gate(), [prepared?.key]);
  const redraw = useRedraw();
  useEffect(() => gate.subscribe(redraw), [gate, redraw]);
  const [looking, setLooking] = useState<string | null>(null);
  const look = async (key: string) => {
    setLooking(key);
    const draft = { kind: "preview", key } as const;
    // The tool's code may take longer than a kernel that listens: that is no silence.
    const answer = await port.ask(
      { type: "prepare", request_id: view.id, locale, draft },
      () => {},
    );
    setLooking((now) => (now === key ? null : now));
    const preview = answer.type === "error" ? null : (answer.prepared?.preview ?? null);
    setPrepared((now) => (now?.key === key ? { ...now, preview } : now));
  };
  const ask = async (draft: { kind: "open-edit" } | { kind: "edit"; data: unknown }) => {
    setAsking(true);
    setFailure(null);
    const question = { type: "prepare", request_id: view.id, locale, draft } as const;
    const answer = await port.ask(question, () => setSilent(true));
    setAsking(false);
    setSilent(false);
    if (answer.type === "error") setFailure(answer);
    else {
      if (answer.form) setForm(answer.form);
      setPrepared(answer.prepared);
      if (answer.prepared && view.preview && changed(view, answer.prepared))
        await look(answer.prepared.key);
    }
  };
  useEffect(() => {
    ask({ kind: "open-edit" });
  }, []);
  useLayoutEffect(() => {
    if (form) box.current?.querySelector<HTMLElement>("input, textarea, select")?.focus();
  }, [form]);
  useLayoutEffect(() => {
    if (prepared) changes.current?.focus();
  }, [prepared]);
  const review = async () => {
    const read = await sheet.current?.read();
    if (read && !asking) await ask({ kind: "edit", data: read.data });
  };
  const same = prepared !== null && !changed(view, prepared);
  return (
    <Box name={say("dialog.edit")} leave={leave}>
      <div ref={box} hidden={prepared !== null}>
        {form && (
          <SchemaForm form={form} errors={failure?.errors ?? NONE} sheet={sheet} submit={review} />
        )}
        {form === null && failure === null && <p class="none">{say("edit.loading")}</p>}
      </div>
      {prepared && (
        <div ref={changes} tabIndex={-1}>
          {same ? (
            <p class="none">{say("edit.unchanged")}</p>
          ) : (
            <Difference
              before={view}
              after={{ args: prepared.args ?? "", secrets: prepared.secrets }}
              name={say("edit.changes")}
            />
          )}
          {!same && view.preview && (
            <Edited
              view={view}
              preview={prepared.preview}
              looking={looking === prepared.key}
              gate={gate}
            />
          )}
        </div>
      )}
      <Trouble failure={failure} silent={silent} />
      <div class="actions">
        {prepared ? (
          <>
            <Consent
              key="yes"
              label={say("button.approve.edited")}
              enabled={armed && !same && looking === null && gate.open}
              busy={busy}
              press={consent({ verdict: "approve", prepared: prepared.key }, prepared.args)}
            />
            <button type="button" class="button" onClick={() => setPrepared(null)}>
              {say("button.editAgain")}
            </button>
          </>
        ) : (
          <button
            key="review"
            type="button"
            class="button strong"
            disabled={form === null}
            aria-disabled={asking}
            onClick={review}
          >
            {say("button.review")}
          </button>
        )}
        <button type="button" class="button" onClick={leave}>
          {say("button.cancel")}
        </button>
        {status}
      </div>
    </Box>
  );
}

const NONE: Failure["errors"] = [];

const changed = (view: RequestView, prepared: Prepared): boolean =>
  prepared.args !== view.args || JSON.stringify(view.secrets) !== JSON.stringify(prepared.secrets);

interface EditedProps {
  view: RequestView;
  preview: PreviewDoc | null;
  looking: boolean;
  gate: Gate;
}

/** What the changed call would do, in place of what the call as it was asked would have done. */
function Edited({ view, preview, looking, gate }: EditedProps) {
  const { say } = useUi();
  if (looking) return <p class="none">{say("preview.making")}</p>;
  if (preview === null) return <p class="why warn">{say("preview.edited")}</p>;
  return (
    <>
      <PreviewOf preview={preview} gate={gate} name={say("preview.edited.name")} place="#edited" />
      {view.preview?.bound && <p class="why warn">{say("preview.edited.bound")}</p>}
      <Blocked gate={gate} />
    </>
  );
}

/** What the kernel said against a draft, or that it says nothing. */
export function Trouble({ failure, silent }: { failure: Failure | null; silent: boolean }) {
  const { say } = useUi();
  const words = silent
    ? say("kernel.silent")
    : failure
      ? say("kernel.refused", { words: failure.words })
      : null;
  if (words === null) return null;
  return (
    <p class="alert" role="alert">
      <Revealed text={words} />
    </p>
  );
}

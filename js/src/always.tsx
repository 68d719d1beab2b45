// "Always allow": what, and for how long; the exact rule in words, and only then a yes to it.
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Consent } from "./consent";
import { type PreparingProps, Trouble } from "./edit";
import type { Failure, GrantDraft, Prepared } from "./generated/messages";
import { parse } from "./json";
import { Box } from "./menu";
import { Revealed } from "./text";
import { freshElementId, useUi } from "./ui";

type Covers = GrantDraft["covers"];
type Reach = GrantDraft["reach"];
const COVERS: Covers[] = ["exact", "fixed", "tool"];
const DAY_MS = 86_400_000;

export function Always({ view, armed, busy, consent, leave, status }: PreparingProps) {
  const { say, port, locale } = useUi();
  const [group] = useState(() => freshElementId("always"));
  const names = argumentNames(view.args);
  // The narrowest rule is the one to begin with.
  const [covers, setCovers] = useState<Covers>("exact");
  const [fixed, setFixed] = useState<string[]>([]);
  const [reach, setReach] = useState<Reach>(view.always[0] ?? "run");
  const [until, setUntil] = useState(() => localTime(Date.now() + DAY_MS));
  const [prepared, setPrepared] = useState<Prepared | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [silent, setSilent] = useState(false);
  const first = useRef<HTMLFieldSetElement>(null);
  useEffect(() => first.current?.querySelector("input")?.focus(), []);
  const choosing = covers === "fixed" && fixed.length === 0;
  const chosen = JSON.stringify([covers, fixed, reach, until]);
  useEffect(() => {
    let current = true;
    setPrepared(null);
    setFailure(null);
    if (choosing) return;
    const draft = {
      kind: "always",
      covers,
      fixed: covers === "fixed" ? fixed : [],
      reach,
      until: reach === "until" ? isoTime(until) : null,
    } as const;
    port
      .ask({ type: "prepare", request_id: view.id, locale, draft }, () => setSilent(true))
      .then((answer) => {
        if (!current) return;
        setSilent(false);
        if (answer.type === "error") setFailure(answer);
        else setPrepared(answer.prepared);
      });
    return () => {
      current = false;
    };
  }, [chosen]);
  const toggle = (name: string) =>
    setFixed(fixed.includes(name) ? fixed.filter((n) => n !== name) : [...fixed, name]);
  return (
    <Box name={say("dialog.always")} leave={leave}>
      <fieldset ref={first}>
        <legend>{say("always.covers")}</legend>
        {COVERS.filter((one) => one !== "fixed" || names.length > 0).map((one) => (
          <Fragment key={one}>
            <label class="choice">
              <input
                type="radio"
                name={`${group}-covers`}
                checked={covers === one}
                onChange={() => setCovers(one)}
              />
              {say(`always.covers.${one}`)}
            </label>
            {one === "fixed" && covers === one && (
              <div class="choices">
                {names.map((name) => (
                  <label key={name} class="choice">
                    <input
                      type="checkbox"
                      checked={fixed.includes(name)}
                      onChange={() => toggle(name)}
                    />
                    <code>
                      <Revealed text={name} />
                    </code>
                  </label>
                ))}
              </div>
            )}
          </Fragment>
        ))}
      </fieldset>
      <fieldset>
        <legend>{say("always.reach")}</legend>
        {view.always.map((one) => (
          <label key={one} class="choice">
            <input
              type="radio"
              name={`${group}-reach`}
              checked={reach === one}
              onChange={() => setReach(one)}
            />
            {say(`always.reach.${one}`)}
          </label>
        ))}
        {reach === "until" && (
          <input
            type="datetime-local"
            aria-label={say("always.until")}
            value={until}
            onInput={(event) => setUntil(event.currentTarget.value)}
          />
        )}
      </fieldset>
      <section class="rule" role="status" aria-label={say("always.exactly")}>
        {choosing ? say("always.choose") : prepared?.words && <Revealed text={prepared.words} />}
      </section>
      <Trouble failure={failure} silent={silent} />
      <div class="actions">
        <Consent
          label={say("button.approve.always")}
          enabled={armed && prepared !== null}
          busy={busy}
          press={consent({ verdict: "approve", prepared: prepared?.key ?? "" })}
        />
        <button type="button" class="button" onClick={leave}>
          {say("button.cancel")}
        </button>
        {status}
      </div>
    </Box>
  );
}

function argumentNames(args: string): string[] {
  const node = parse(args);
  return node.kind === "object" ? node.entries.map(([name]) => name) : [];
}

/** A moment as a `datetime-local` control shows it. */
function localTime(at: number): string {
  const shifted = at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 16);
}

function isoTime(local: string): string | null {
  const at = new Date(local);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

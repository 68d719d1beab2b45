// The seam for forms: what is asked for, and one field of JSON for tools that name no schema.
import { useState } from "preact/hooks";
import { jsonOrText } from "../card";
import type { Decider } from "../decide";
import type { RequestView } from "../generated/messages";
import { freshElementId, useUi } from "../ui";

export interface FormProps {
  view: RequestView;
  decider: Decider;
  /** Whether the kernel is known to listen. */
  armed: boolean;
}

export function Form({ view, decider, armed }: FormProps) {
  const { say } = useUi();
  const [text, setText] = useState("");
  const [id] = useState(() => freshElementId("answer"));
  const busy = decider.sending !== "idle";
  const errors = decider.failure?.errors ?? [];
  return (
    <>
      <div class="field">
        <label for={id}>{say("dialog.field.answer")}</label>
        <textarea
          id={id}
          rows={3}
          value={text}
          aria-invalid={errors.length > 0}
          aria-describedby={errors.length > 0 ? `${id}-error` : undefined}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {errors.length > 0 && (
          <ul class="error" id={`${id}-error`}>
            {errors.map((error) => (
              <li key={error.path.join("/")}>{[...error.path, error.message].join(": ")}</li>
            ))}
          </ul>
        )}
      </div>
      <div class="foot">
        <button
          type="button"
          class="button go"
          disabled={!armed || busy || text.trim() === ""}
          onClick={() => decider.send({ verdict: "answer", data: jsonOrText(text) })}
        >
          {say("button.submit")}
        </button>
        {view.allowed.includes("decline") && (
          <button
            type="button"
            class="button"
            disabled={busy}
            onClick={() => decider.send({ verdict: "decline" })}
          >
            {say("button.decline")}
          </button>
        )}
      </div>
    </>
  );
}

// One form from a prepared schema: what stands in its controls, and Python's errors at them.
import Engine, { type FormProps } from "@rjsf/core/lib/components/Form.js";
import type { RefObject } from "preact";
import { useEffect, useImperativeHandle, useMemo, useRef, useState } from "preact/hooks";
import type { FieldError, FormDoc } from "../generated/messages";
import { freshElementId } from "../ui";
import { type Draft, keepDraft, readDraft } from "./draft";
import { errorTree, focusFirstError, shownPaths } from "./errors";
import { SEPARATOR } from "./ids";
import { matcher } from "./validator";

/** What stands in the controls now; asked for when it is to be sent. */
export interface Sheet {
  read(): Promise<Draft>;
}

interface Props {
  form: FormDoc;
  errors: readonly FieldError[];
  sheet: RefObject<Sheet | null>;
  /** The name under which a draft is kept; none: it is not kept. */
  draft?: string;
  /** Enter in a line, or Ctrl+Enter anywhere. */
  submit?: () => void;
}

export function SchemaForm({ form, errors, sheet, draft, submit }: Props) {
  const layout = useMemo(() => JSON.parse(form.layout), [form.layout]);
  const [begin] = useState(() => beginWith(form, draft));
  const [prefix] = useState(() => freshElementId("form"));
  const edited = useRef(begin.edited);
  const box = useRef<HTMLDivElement>(null);
  const engine = useRef<Engine>(null);
  const [passed, setPassed] = useState(errors);
  const current = passed === errors && errors.length > 0 ? NONE : errors;
  const tree = useMemo(
    () => (box.current ? errorTree(current, shownPaths(box.current)) : {}),
    [current],
  );
  useEffect(() => {
    if (errors.length > 0 && box.current) focusFirstError(box.current);
  }, [errors]);
  useImperativeHandle(
    sheet,
    () => ({
      // A moment later: what was typed last may still be on its way through the library.
      read: () =>
        new Promise((resolve) =>
          setTimeout(() =>
            resolve({ data: engine.current?.state.formData ?? null, edited: edited.current }),
          ),
        ),
    }),
    [],
  );
  const touch = () => {
    edited.current = true;
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it listens to the controls inside
    <div
      class="form"
      ref={box}
      onInputCapture={touch}
      onChangeCapture={touch}
      onClickCapture={(event) => {
        if (!(event.target as Element).closest("button")) return;
        touch();
        setPassed(errors); // they belong to rows that may now stand elsewhere
      }}
      onKeyDown={(event) => {
        if (!submit || !isSubmit(event)) return;
        event.preventDefault();
        submit();
      }}
    >
      <Engine
        ref={engine}
        tagName="div"
        schema={layout}
        uiSchema={UI}
        initialFormData={begin.data}
        extraErrors={tree}
        validator={matcher}
        idPrefix={prefix}
        idSeparator={SEPARATOR}
        noValidate
        noHtml5Validate
        showErrorList={false}
        experimental_defaultFormStateBehavior={NOTHING_INVENTED}
        onChange={({ formData }) => {
          if (draft && edited.current) keepDraft(draft, { data: formData, edited: true }, layout);
        }}
      />
    </div>
  );
}

const NONE: readonly FieldError[] = [];
const UI = { "ui:submitButtonOptions": { norender: true } };
const NOTHING_INVENTED = {
  requiredBooleanDefault: "skip",
  arrayMinItems: { populate: "never" },
} as unknown as NonNullable<FormProps["experimental_defaultFormStateBehavior"]>;

function beginWith(form: FormDoc, draft: string | undefined): Draft {
  const found = draft === undefined ? undefined : readDraft(draft);
  if (found) return found;
  return { data: form.data === null ? undefined : JSON.parse(form.data), edited: false };
}

function isSubmit(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.altKey) return false;
  if (event.ctrlKey || event.metaKey) return true;
  const line = 'input:not([type="checkbox"], [type="radio"], .key)';
  return (event.target as Element).matches(line);
}

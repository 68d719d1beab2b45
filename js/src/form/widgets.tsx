// The controls. Each names its description and its error, and says when its value is not accepted.
import type { EnumOptionsType, WidgetProps } from "@rjsf/utils";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Revealed } from "../text";
import { useUi } from "../ui";
import { isMarker } from "./draft";
import { aboutId, elementId, errorId, isPicker, labelId, pickerId } from "./ids";
import { fromText, toText } from "./numbers";
import { CalledContext } from "./place";

type Props = Pick<
  WidgetProps,
  "id" | "value" | "required" | "disabled" | "readonly" | "options" | "rawErrors" | "schema"
> & { onChange: (value: unknown) => void; placeholder?: string };

/** What every control says about itself. */
function useAria({ id, required, rawErrors = [] }: Props) {
  const { about } = useContext(CalledContext);
  const wrong = rawErrors.length > 0;
  const told = [about && aboutId(id), wrong && errorId(id)].filter(Boolean).join(" ");
  return {
    "aria-required": required ? ("true" as const) : undefined,
    "aria-invalid": wrong ? ("true" as const) : undefined,
    "aria-describedby": told || undefined,
  };
}

const emptied = (text: string, options: Props["options"]): unknown =>
  text === "" ? options.emptyValue : text;

interface LineProps extends Props {
  type?: "text" | "password" | "date" | "email";
  text: string;
  change: (text: string) => void;
}

function Line({ type = "text", text, change, ...props }: LineProps) {
  const { id, options, disabled, readonly, placeholder } = props;
  return (
    <input
      {...useAria(props)}
      id={elementId(id)}
      type={type as "text"}
      value={text}
      disabled={disabled}
      readOnly={readonly}
      placeholder={placeholder || undefined}
      inputMode={options.inputMode as "decimal" | undefined}
      autocomplete={type === "password" ? "new-password" : "off"}
      spellcheck={false}
      onInput={(event) => change(event.currentTarget.value)}
    />
  );
}

function Text(props: Props) {
  const text = toText(props.value);
  // What a single line cannot show is never put into one: the browser would drop the line breaks.
  const lines = useRef(false);
  if (text.includes("\n")) lines.current = true;
  if (lines.current) return <Area {...props} />;
  return <Line {...props} text={text} change={(t) => props.onChange(emptied(t, props.options))} />;
}

export function Area(props: Props & { code?: boolean }) {
  const { id, value, options, disabled, readonly, placeholder, onChange, code } = props;
  return (
    <textarea
      {...useAria(props)}
      id={elementId(id)}
      class={code ? "code" : undefined}
      rows={3}
      value={toText(value)}
      disabled={disabled}
      readOnly={readonly}
      placeholder={placeholder || undefined}
      spellcheck={code ? false : undefined}
      onInput={(event) => onChange(emptied(event.currentTarget.value, options))}
    />
  );
}

const typed = (type: "date" | "email") => (props: Props) => (
  <Line
    {...props}
    type={type}
    text={toText(props.value)}
    change={(t) => props.onChange(emptied(t, props.options))}
  />
);

/** A number is typed as text: the browser's own box, and the library's, change it on the way. */
function Num(props: Props) {
  const [typedText, setTyped] = useState(toText(props.value));
  const same = Object.is(fromText(typedText), props.value ?? undefined);
  const change = (text: string) => {
    setTyped(text);
    props.onChange(fromText(text));
  };
  return <Line {...props} text={same ? typedText : toText(props.value)} change={change} />;
}

/** Of an old secret only dots are here: whoever types replaces it as a whole. */
export function Password(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const old = isMarker(props.value);
  useLayoutEffect(() => {
    const input = box.current?.querySelector("input");
    if (!input || !old) return;
    const select = () => input.select();
    input.addEventListener("focus", select);
    input.addEventListener("beforeinput", select);
    return () => {
      input.removeEventListener("focus", select);
      input.removeEventListener("beforeinput", select);
    };
  }, [old]);
  return (
    <div ref={box} class="bare">
      <Line
        {...props}
        type="password"
        text={toText(props.value)}
        change={(t) => props.onChange(emptied(t, props.options))}
      />
    </div>
  );
}

const optionsOf = (props: Props): EnumOptionsType[] =>
  (props.options.enumOptions as EnumOptionsType[] | undefined) ?? [];

/** Where the value stands among the options; they are scalars. */
const indexOf = (options: EnumOptionsType[], value: unknown): number =>
  options.findIndex((option) => Object.is(option.value, value));

function Select(props: Props) {
  const { id, schema, value, disabled, readonly, onChange } = props;
  const { say } = useUi();
  const { label, star } = useContext(CalledContext);
  const options = optionsOf(props);
  const picker = isPicker(id);
  const at = indexOf(options, value);
  const nullable = (schema as { "x-nullable"?: boolean })["x-nullable"] === true;
  const blank = !picker && (schema.default === undefined || at < 0);
  return (
    <select
      {...useAria(picker ? { ...props, id: baseOf(id), required: star } : props)}
      id={picker ? pickerId(id) : elementId(id)}
      aria-label={picker ? label : undefined}
      value={at < 0 ? "" : String(at)}
      disabled={disabled || readonly}
      onChange={(event) => {
        const chosen = event.currentTarget.value;
        onChange(chosen === "" ? undefined : options[Number(chosen)]?.value);
      }}
    >
      {blank && <option value="">{say(nullable ? "form.none" : "form.choose")}</option>}
      {options.map((option, i) => (
        <option key={option.label} value={String(i)}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

const baseOf = (id: string): string => id.slice(0, id.lastIndexOf("__anyof_select"));

function Radio(props: Props) {
  const { id, value, disabled, readonly, onChange } = props;
  const options = optionsOf(props);
  const at = indexOf(options, value);
  return (
    <div
      {...useAria(props)}
      id={elementId(id)}
      class="options"
      role="radiogroup"
      aria-labelledby={labelId(id)}
    >
      {options.map((option, i) => (
        <label key={option.label}>
          <input
            type="radio"
            name={elementId(id)}
            checked={i === at}
            disabled={disabled || readonly}
            onChange={() => onChange(option.value)}
          />
          <span>
            <Revealed text={option.label} />
          </span>
        </label>
      ))}
    </div>
  );
}

function Checkboxes(props: Props) {
  const { id, value, disabled, readonly, onChange } = props;
  const options = optionsOf(props);
  const chosen = new Set(Array.isArray(value) ? value : []);
  const { "aria-required": _, "aria-invalid": wrong, ...aria } = useAria(props);
  const toggle = (option: EnumOptionsType, on: boolean) => {
    const rest = (Array.isArray(value) ? value : []).filter((v) => !Object.is(v, option.value));
    onChange(on ? [...rest, option.value] : rest);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is drawn around it by its legend
    <div
      {...aria}
      id={elementId(id)}
      class="options checks"
      role="group"
      aria-labelledby={labelId(id)}
    >
      {options.map((option) => (
        <label key={option.label}>
          <input
            type="checkbox"
            checked={chosen.has(option.value)}
            disabled={disabled || readonly}
            aria-invalid={wrong}
            onChange={(event) => toggle(option, event.currentTarget.checked)}
          />
          <span>
            <Revealed text={option.label} />
          </span>
        </label>
      ))}
    </div>
  );
}

function Checkbox(props: Props) {
  const { id, value, disabled, readonly, onChange } = props;
  const { label } = useContext(CalledContext);
  const { "aria-required": _, ...aria } = useAria(props);
  return (
    <label class="check">
      <input
        {...aria}
        id={elementId(id)}
        type="checkbox"
        checked={value === true}
        disabled={disabled || readonly}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        <Revealed text={label} />
      </span>
    </label>
  );
}

export const widgets = {
  num: Num,
  text: Text,
  TextWidget: Text,
  TextareaWidget: Area,
  PasswordWidget: Password,
  DateWidget: typed("date"),
  EmailWidget: typed("email"),
  HiddenWidget: () => null,
  SelectWidget: Select,
  RadioWidget: Radio,
  CheckboxesWidget: Checkboxes,
  CheckboxWidget: Checkbox,
};

// How a field is laid out: name, description, control, error.
import type { FieldTemplateProps, MultiSchemaFieldTemplateProps, RJSFSchema } from "@rjsf/utils";
import { ADDITIONAL_PROPERTY_FLAG } from "@rjsf/utils";
import type { ComponentChildren, VNode } from "preact";
import { useContext } from "preact/hooks";
import { Revealed } from "../text";
import { useUi } from "../ui";
import type { Say } from "../words";
import { aboutId, elementId, errorId, labelId, pointer } from "./ids";
import { Entry, ListItem, ListOf, ObjectOf } from "./lists";
import { CalledContext, type Place, PlaceContext } from "./place";

/** What kind of field it is: who draws its name and its errors. */
type Form = "union" | "section" | "group" | "check" | "line";

function formOf(schema: RJSFSchema, ui: FieldTemplateProps["uiSchema"]): Form {
  const widget = ui?.["ui:widget"];
  if (ui?.["ui:field"] === "json") return "line";
  if (schema.anyOf) return "union";
  if (widget === "radio" || widget === "checkboxes") return "group";
  if (schema.type === "object" || schema.type === "array") return "section";
  if (schema.type === "boolean" && !widget) return "check";
  return "line";
}

function Field(props: FieldTemplateProps) {
  const { id, schema, uiSchema, hidden, children, required, fieldPathId, rawErrors = [] } = props;
  const { say } = useUi();
  const place = useContext(PlaceContext);
  const form = formOf(schema, uiSchema);
  const label = nameOf(props, place);
  const entry = ADDITIONAL_PROPERTY_FLAG in schema;
  if (hidden) return <div hidden>{children}</div>;
  const root = fieldPathId.path.length === 0;
  const scalar = form !== "section" && form !== "union";
  const quiet = root || place?.kind === "branch" || (scalar && (entry || isPlainItem(place)));
  const words = [...new Set([schema.description, hintOf(schema, say)].filter(Boolean))] as string[];
  const star = required && place?.kind !== "item" && !quiet;
  const called = {
    label,
    quiet,
    about: words.length > 0,
    wrong: rawErrors.length > 0,
    star: star === true,
  };
  const named = form === "line" || form === "group";
  const body = (
    <div class={`field ${form}`} data-path={pointer(fieldPathId.path)}>
      {named && (
        <Name id={id} group={form === "group"} quiet={quiet} star={star}>
          <Revealed text={label} />
        </Name>
      )}
      {form !== "section" && <About id={id} words={words} />}
      {children}
      {form !== "union" && <Errors id={id} errors={rawErrors} />}
    </div>
  );
  return (
    <PlaceContext.Provider value={null}>
      <CalledContext.Provider value={called}>
        {entry ? <Entry {...props}>{body}</Entry> : body}
      </CalledContext.Provider>
    </PlaceContext.Provider>
  );
}

const isPlainItem = (place: Place): boolean => place?.kind === "item" && !place.named;

function nameOf({ label, schema }: FieldTemplateProps, place: Place): string {
  if (place?.kind === "branch") return `${place.label}: ${schema.title ?? label}`;
  if (place?.kind !== "item") return label;
  return place.named && schema.title ? `${schema.title}` : `${place.label} ${place.index + 1}`;
}

/** The bounds in words, as the mock has them under the name. */
function hintOf(schema: RJSFSchema, say: Say): string | null {
  // As they stand in the schema: a bound may be a year, or smaller than a thousandth.
  const [min, max] = [schema.minimum?.toString(), schema.maximum?.toString()];
  if (min !== undefined && max !== undefined) return say("form.range", { min, max });
  if (min !== undefined) return say("form.min", { min });
  return max !== undefined ? say("form.max", { max }) : null;
}

interface NameProps {
  id: string;
  group: boolean;
  quiet: boolean;
  star: boolean | undefined;
  children: ComponentChildren;
}

function Name({ id, group, quiet, star, children }: NameProps) {
  const inner = (
    <>
      {children}
      {star && <Star />}
    </>
  );
  const look = quiet ? "name quiet" : "name";
  return group ? (
    <span id={labelId(id)} class={look}>
      {inner}
    </span>
  ) : (
    <label for={elementId(id)} class={look}>
      {inner}
    </label>
  );
}

/** A required field; controls say it by themselves. */
export const Star = () => (
  <span class="star" aria-hidden="true">
    {" *"}
  </span>
);

export function About({ id, words }: { id: string; words: string[] }) {
  if (words.length === 0) return null;
  return (
    <div class="about" id={aboutId(id)}>
      {words.map((text) => (
        <p key={text}>
          <Revealed text={text} />
        </p>
      ))}
    </div>
  );
}

export function Errors({ id, errors }: { id: string; errors: string[] }) {
  if (errors.length === 0) return null;
  return (
    <div class="error" id={errorId(id)} tabIndex={-1}>
      {errors.map((text) => (
        <p key={text}>
          <Revealed text={text} />
        </p>
      ))}
    </div>
  );
}

/** A picker of branches, and the fields of the chosen one. */
function Union({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) {
  const { label, quiet, star } = useContext(CalledContext);
  const props = (selector as VNode | undefined)?.props as
    | { id: string; rawErrors?: string[]; required?: boolean }
    | undefined;
  const id = props?.id.slice(0, props.id.lastIndexOf("__anyof_select")) ?? "";
  return (
    <>
      <span class={quiet ? "name quiet" : "name"} aria-hidden="true">
        <Revealed text={label} />
        {star && <Star />}
      </span>
      {selector}
      {optionSchemaField ? (
        <PlaceContext.Provider value={{ kind: "branch", label }}>
          <div class="branch">{optionSchemaField}</div>
        </PlaceContext.Provider>
      ) : (
        <Errors id={id} errors={props?.rawErrors ?? []} />
      )}
    </>
  );
}

const Nothing = () => null;

export const templates = {
  FieldTemplate: Field,
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
  DescriptionFieldTemplate: Nothing,
  TitleFieldTemplate: Nothing,
  ErrorListTemplate: Nothing,
  ObjectFieldTemplate: ObjectOf,
  ArrayFieldTemplate: ListOf,
  ArrayFieldItemTemplate: ListItem,
  MultiSchemaFieldTemplate: Union,
  ButtonTemplates: { SubmitButton: Nothing },
};

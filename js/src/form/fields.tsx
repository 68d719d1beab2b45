// How the form library is bent: hints ride inside the schema, and nothing is invented.
import BaseArrayField from "@rjsf/core/lib/components/fields/ArrayField.js";
import BaseObjectField from "@rjsf/core/lib/components/fields/ObjectField.js";
import BaseSchemaField from "@rjsf/core/lib/components/fields/SchemaField.js";
import type { FieldProps, RJSFSchema, UiSchema } from "@rjsf/utils";
import { deepEquals } from "@rjsf/utils";
import { useMemo } from "preact/hooks";
import { useUi } from "../ui";
import { elementId } from "./ids";
import { Area, Password } from "./widgets";

const HINTS: Record<string, string> = {
  field: "ui:field",
  widget: "ui:widget",
  enumNames: "ui:enumNames",
  placeholder: "ui:placeholder",
  readonly: "ui:readonly",
  inputmode: "ui:inputMode",
  emptyValue: "ui:emptyValue",
};

/** "x-ui" in a schema becomes the library's hints, so that recursion keeps them. */
export function SchemaField(props: FieldProps) {
  const { schema, registry, formData, uiSchema } = props;
  const plain = schema.$ref ? registry.schemaUtils.retrieveSchema(schema, formData) : schema;
  const hints = (plain as RJSFSchema)["x-ui"] as Record<string, unknown> | undefined;
  const merged = useMemo(() => withHints(uiSchema, hints), [uiSchema, hints]);
  return <BaseSchemaField {...props} uiSchema={merged} />;
}

function withHints(ui: UiSchema | undefined, hints: Record<string, unknown> = {}): UiSchema {
  const known = Object.entries(hints).filter(([key]) => key in HINTS);
  return { ...ui, ...Object.fromEntries(known.map(([key, value]) => [HINTS[key], value])) };
}

/** A new entry of a dictionary holds nothing: the library would give it 0, false or a text. */
export function ObjectField(props: FieldProps) {
  const { formData, registry, schema } = props;
  const own = (props.childFieldPathId ?? props.fieldPathId).path;
  const onChange: FieldProps["onChange"] = (data, path, ...rest) => {
    const added = deepEquals(path, own) ? newKey(formData, data) : null;
    if (added !== null && data && blankly(schema, registry)) data = { ...data, [added]: null };
    props.onChange(data, path, ...rest);
  };
  return <BaseObjectField {...props} onChange={onChange} />;
}

/** A new item is null, as it would be in JSON: in a union the library loses one that is undefined. */
export function ArrayField(props: FieldProps<unknown[]>) {
  const onChange: typeof props.onChange = (data, ...rest) =>
    props.onChange(Array.isArray(data) ? data.map((item) => item ?? null) : data, ...rest);
  return <BaseArrayField {...props} onChange={onChange} />;
}

function newKey(before: object | undefined, after: unknown): string | null {
  if (typeof after !== "object" || after === null) return null;
  const old = new Set(Object.keys(before ?? {}));
  const added = Object.keys(after).filter((key) => !old.has(key));
  return added.length === 1 && Object.keys(after).length === old.size + 1
    ? (added[0] ?? null)
    : null;
}

function blankly(schema: RJSFSchema, registry: FieldProps["registry"]): boolean {
  const extra = schema.additionalProperties;
  if (typeof extra !== "object") return false;
  const plain = registry.schemaUtils.retrieveSchema(extra as RJSFSchema);
  return !("default" in plain) && plain.type !== "object" && plain.type !== "array";
}

/** Any JSON, exchanged as text. */
export function JsonField(props: FieldProps) {
  const { fieldPathId, formData, onChange, uiSchema, ...rest } = props;
  const given = {
    ...rest,
    id: fieldPathId.$id,
    value: formData,
    options: {},
    onChange: (value: unknown) => onChange(value, fieldPathId.path),
  };
  if (uiSchema?.["ui:widget"] === "password") return <Password {...given} />;
  return <Area {...given} code />;
}

/** A value that is always null has no control. */
export function NullField({ fieldPathId }: FieldProps) {
  const { say } = useUi();
  return (
    <span class="nothing" id={elementId(fieldPathId.$id)}>
      {say("form.none")}
    </span>
  );
}

// Sections: objects, dictionaries and lists, with buttons that the keyboard stays at.
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  FieldTemplateProps,
  ObjectFieldTemplateProps,
  RJSFSchema,
} from "@rjsf/utils";
import { canExpand } from "@rjsf/utils";
import type { ComponentChildren } from "preact";
import { useContext, useLayoutEffect, useRef } from "preact/hooks";
import { Revealed } from "../text";
import { useUi } from "../ui";
import { aboutId, elementId, errorId, SEPARATOR } from "./ids";
import { CalledContext, PlaceContext } from "./place";
import { About, Star } from "./templates";

interface SectionProps {
  id: string;
  schema: RJSFSchema;
  plain?: boolean;
  children: ComponentChildren;
}

function Section({ id, schema, plain = false, children }: SectionProps) {
  const { label, quiet, wrong, star } = useContext(CalledContext);
  const words = schema.description ? [schema.description] : [];
  const told = [words.length > 0 && aboutId(id), wrong && errorId(id)].filter(Boolean).join(" ");
  const inside = (
    <>
      <About id={id} words={words} />
      {children}
    </>
  );
  if (plain) return <div id={elementId(id)}>{inside}</div>;
  return (
    <fieldset id={elementId(id)} aria-describedby={told || undefined}>
      <legend class={quiet ? "name quiet" : "name"}>
        <Revealed text={label} />
        {star && <Star />}
      </legend>
      {inside}
    </fieldset>
  );
}

export function ObjectOf(props: ObjectFieldTemplateProps) {
  const { fieldPathId, schema, uiSchema, formData, properties, disabled, readonly } = props;
  const { say } = useUi();
  const { label } = useContext(CalledContext);
  const id = ownId(fieldPathId.$id);
  const box = useRef<HTMLDivElement>(null);
  const added = useRef(false);
  const count = properties.length;
  useLayoutEffect(() => {
    if (!added.current) return;
    added.current = false;
    const keys = box.current?.querySelectorAll<HTMLInputElement>(":scope > .entry > input.key");
    const last = [...(keys ?? [])].at(-1);
    last?.focus();
    last?.select();
  }, [count]);
  if (schema.anyOf && !schema.properties && count === 0) return null;
  const root = fieldPathId.path.length === 0;
  return (
    <Section id={id} schema={schema} plain={root}>
      <div ref={box} class="parts">
        {properties.map((property) => property.content)}
      </div>
      {canExpand(schema, uiSchema, formData) && (
        <button
          type="button"
          class="button small"
          aria-label={say("form.add", { what: label })}
          disabled={disabled || readonly}
          onClick={() => {
            added.current = true;
            props.onAddProperty();
          }}
        >
          + {say("form.add.short")}
        </button>
      )}
    </Section>
  );
}

/** Beside a union the library gives its sections another id. */
const ownId = (id: string): string => id.replace(new RegExp(`${SEPARATOR}XxxOf$`), "");

/** An entry of a dictionary: its key can be changed, and it can be taken out. */
export function Entry(props: FieldTemplateProps & { children: ComponentChildren }) {
  const { id, label, disabled, readonly, onKeyRename, onRemoveProperty, children } = props;
  const { say } = useUi();
  const off = disabled || readonly;
  return (
    <div class="entry">
      <input
        class="key"
        type="text"
        id={`${elementId(id)}:key`}
        aria-label={say("form.key")}
        autocomplete="off"
        spellcheck={false}
        key={label}
        defaultValue={label}
        disabled={off}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        onBlur={(event) => onKeyRename(event.currentTarget.value)}
      />
      {children}
      <IconButton
        icon="✕"
        label={say("form.remove", { what: label })}
        disabled={off}
        press={onRemoveProperty}
      />
    </div>
  );
}

interface IconProps {
  icon: string;
  label: string;
  id?: string;
  disabled?: boolean | undefined;
  press: (event: MouseEvent) => void;
}

function IconButton({ icon, label, id, disabled, press }: IconProps) {
  return (
    <button
      type="button"
      class="icon"
      id={id}
      aria-label={label}
      title={label}
      disabled={disabled}
      onClick={(event) => press(event)}
    >
      <span aria-hidden="true">{icon}</span>
    </button>
  );
}

export function ListOf(props: ArrayFieldTemplateProps) {
  const { fieldPathId, schema, items, canAdd, disabled, readonly, onAddClick } = props;
  const { say } = useUi();
  const { label } = useContext(CalledContext);
  const id = ownId(fieldPathId.$id);
  const box = useRef<HTMLDivElement>(null);
  const added = useRef(false);
  useLayoutEffect(() => {
    if (!added.current) return;
    added.current = false;
    const last = [...(box.current?.children ?? [])].at(-1);
    last?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, [items.length]);
  return (
    <Section id={id} schema={schema}>
      <div ref={box} class="listed">
        {items}
      </div>
      {canAdd && (
        <button
          type="button"
          class="button small"
          id={`${elementId(id)}:add`}
          aria-label={say("form.add", { what: label })}
          disabled={disabled || readonly}
          onClick={(event) => {
            added.current = true;
            onAddClick(event);
          }}
        >
          + {say("form.add.short")}
        </button>
      )}
    </Section>
  );
}

export function ListItem(props: ArrayFieldItemTemplateProps) {
  const {
    buttonsProps: buttons,
    hasToolbar,
    index,
    totalItems,
    children,
    disabled,
    readonly,
  } = props;
  const { say } = useUi();
  const { label } = useContext(CalledContext);
  const row = useRef<HTMLDivElement>(null);
  const id = buttons.fieldPathId.$id;
  const list = id.slice(0, id.lastIndexOf(SEPARATOR));
  const name = `${label} ${index + 1}`;
  const off = disabled || readonly;
  const act =
    (does: (event: MouseEvent) => void, ...then: string[]) =>
    (event: MouseEvent) => {
      const root = row.current?.getRootNode() as Document | ShadowRoot;
      does(event);
      requestAnimationFrame(() => focusOneOf(root, then));
    };
  const at = (i: number, what: string) => `${elementId(`${list}${SEPARATOR}${i}`)}:${what}`;
  return (
    <div ref={row} class="item">
      <PlaceContext.Provider value={{ kind: "item", label, index, named: !hasToolbar }}>
        {children}
      </PlaceContext.Provider>
      {hasToolbar && (
        <div class="tools">
          {(buttons.hasMoveUp || buttons.hasMoveDown) && (
            <>
              <IconButton
                icon="↑"
                id={at(index, "up")}
                label={say("form.up", { what: name })}
                disabled={off || !buttons.hasMoveUp}
                press={act(buttons.onMoveUpItem, at(index - 1, "up"), at(index - 1, "down"))}
              />
              <IconButton
                icon="↓"
                id={at(index, "down")}
                label={say("form.down", { what: name })}
                disabled={off || !buttons.hasMoveDown}
                press={act(buttons.onMoveDownItem, at(index + 1, "down"), at(index + 1, "up"))}
              />
            </>
          )}
          {buttons.hasRemove && (
            <IconButton
              icon="✕"
              id={at(index, "remove")}
              label={say("form.remove", { what: name })}
              disabled={off}
              press={act(
                buttons.onRemoveItem,
                at(index === totalItems - 1 ? index - 1 : index, "remove"),
                `${elementId(list)}:add`,
              )}
            />
          )}
        </div>
      )}
    </div>
  );
}

function focusOneOf(root: Document | ShadowRoot, ids: string[]): void {
  for (const id of ids) {
    const found = root.getElementById(id);
    if (found && !(found as HTMLButtonElement).disabled) {
      found.focus();
      return;
    }
  }
}

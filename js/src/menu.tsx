// A button with a menu of further actions, and the small dialog that some of them open.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { kindOf } from "./json";
import { freshElementId, useUi } from "./ui";

export interface Item {
  label: string;
  choose: () => void;
}

export function Menu({
  name,
  items,
  disabled,
}: {
  name: string;
  items: Item[];
  disabled: boolean;
}) {
  const [open, setOpen] = useState(false);
  const [id] = useState(() => freshElementId("menu"));
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const entries = () => [
    ...(root.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? []),
  ];
  // Before the next key: a fast typist's second arrow belongs to the menu already.
  useLayoutEffect(() => {
    if (!open) return;
    entries()[0]?.focus();
    const away = (event: Event) => {
      if (!event.composedPath().includes(root.current as EventTarget)) setOpen(false);
    };
    document.addEventListener("pointerdown", away, true);
    return () => document.removeEventListener("pointerdown", away, true);
  }, [open]);
  const leave = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = entries();
    const at = all.indexOf(event.target as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape") leave();
    else if (event.key === "Tab") setOpen(false);
    else if (to !== undefined) all.at(to % all.length)?.focus();
    else return;
    if (event.key !== "Tab") {
      event.preventDefault();
      event.stopPropagation();
    }
  };
  if (items.length === 0) return null;
  return (
    <div class="menu" ref={root}>
      <button
        type="button"
        class="button more"
        ref={button}
        aria-label={name}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-disabled={disabled}
        onClick={() => setOpen(!open && !disabled)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || disabled) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <span aria-hidden="true">⋯</span>
      </button>
      {open && (
        <div
          class="items"
          role="menu"
          id={id}
          aria-label={name}
          tabIndex={-1}
          onKeyDown={onKeyDown}
        >
          {items.map((item) => (
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              key={item.label}
              onClick={() => {
                leave();
                item.choose();
              }}
            >
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

/** How a typed result will be understood: `42` is a number, `"42"` and `forty-two` are text. */
export function Understood({ text }: { text: string }) {
  const { say } = useUi();
  const kind = text.trim() === "" ? null : (kindOf(text) ?? "text");
  return (
    <p class="none" role="status">
      {kind === null
        ? ""
        : kind === "text"
          ? say("respond.text")
          : say("respond.json", { type: say(`type.${kind}`) })}
    </p>
  );
}

interface DialogProps {
  name: string;
  field: string;
  hint: string;
  button: preact.ComponentChild | ((text: string) => preact.ComponentChild);
  draft: { text: string };
  /** A line about what was typed. */
  about?: (text: string) => preact.ComponentChild;
  leave: () => void;
  status: preact.ComponentChild;
}

interface BoxProps {
  name: string;
  leave: () => void;
  children: preact.ComponentChildren;
}

/** A named box in the card's group; Escape leaves it. */
export function Box({ name, leave, children }: BoxProps) {
  return (
    <div
      class="dialog"
      role="dialog"
      aria-label={name}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        leave();
      }}
    >
      {children}
    </div>
  );
}

/** A box with one text field; Escape and Cancel leave it, the text stays. */
export function Dialog({ name, field, hint, button, draft, about, leave, status }: DialogProps) {
  const { say } = useUi();
  const [text, setText] = useState(draft.text);
  const [id] = useState(() => freshElementId("field"));
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => area.current?.focus(), []);
  return (
    <Box name={name} leave={leave}>
      <label for={id}>{field}</label>
      <textarea
        id={id}
        ref={area}
        rows={2}
        placeholder={hint}
        value={text}
        onInput={(event) => {
          draft.text = event.currentTarget.value;
          setText(draft.text);
        }}
      />
      {about?.(text)}
      <div class="actions">
        {typeof button === "function" ? button(text) : button}
        <button type="button" class="button" onClick={leave}>
          {say("button.cancel")}
        </button>
        {status}
      </div>
    </Box>
  );
}

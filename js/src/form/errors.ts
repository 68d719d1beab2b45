// Python's errors at the fields that are on the page.
import type { ErrorSchema } from "@rjsf/utils";
import type { FieldError } from "../generated/messages";
import { type Path, pointer } from "./ids";

/** Pointers of all fields that are drawn within `root`. */
export function shownPaths(root: Element): Set<string> {
  const fields = root.querySelectorAll<HTMLElement>("[data-path]");
  return new Set([...fields].map((field) => field.dataset.path ?? ""));
}

/** The form library's tree; an error whose field is not shown goes to what is shown around it. */
export function errorTree(errors: readonly FieldError[], shown: Set<string>): ErrorSchema {
  const tree: Tree = {};
  for (const { path, message } of errors) {
    const at = nearest(path, shown);
    const rest = path.slice(at.length);
    const words = rest.length > 0 ? `${rest.join(".")}: ${message}` : message;
    let node = tree;
    for (const key of at) {
      if (!Object.hasOwn(node, key)) Object.defineProperty(node, key, entry({}));
      node = node[key] as Tree;
    }
    if (!node.__errors) node.__errors = [];
    if (!node.__errors.includes(words)) node.__errors.push(words);
  }
  return tree as ErrorSchema;
}

interface Tree {
  [key: string]: Tree | string[] | undefined;
  __errors?: string[];
}

// Defined, not assigned: a field may be called "__proto__".
const entry = (value: unknown): PropertyDescriptor => ({
  value,
  enumerable: true,
  configurable: true,
  writable: true,
});

function nearest(path: Path, shown: Set<string>): Path {
  let at = path;
  while (at.length > 0 && !shown.has(pointer(at))) at = at.slice(0, -1);
  return at;
}

/** Bring the keyboard to the first error: to its control, else to its words. */
export function focusFirstError(root: Element): void {
  const words = root.querySelector<HTMLElement>(".error");
  if (!words) return;
  const control = root.querySelector<HTMLElement>(`[aria-describedby~="${CSS.escape(words.id)}"]`);
  const target = control?.matches("input, select, textarea")
    ? control
    : control?.matches('[role="radiogroup"], [role="group"].checks')
      ? control.querySelector<HTMLElement>("input:checked, input")
      : words;
  (target ?? words).focus();
}

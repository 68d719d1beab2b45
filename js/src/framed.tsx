// HTML of a preview, shut in a frame that runs nothing, loads nothing and leads nowhere. What scrolls
// inside of such a frame can not be seen from here: the frame is as tall as its page and scrolls in
// a block of ours, whose end must be reached as any other's.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ScrollBlock, useShown } from "./args";
import { Prose } from "./prose";
import { useUi } from "./ui";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'";
const PAPER =
  "body{margin:8px;background:#fff;color:#000;font:13px/1.5 system-ui,sans-serif}" +
  "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:2px 6px;text-align:left}";

/** Of a side, in pixels: a larger page is read as its words. */
const MOST = 20_000;

interface Size {
  width: number;
  height: number;
}

interface FramedProps {
  html: string;
  /** Of its place at the gate. */
  id: string;
  label: string;
}

export function Framed({ html, id, label }: FramedProps) {
  const { say } = useUi();
  const { gate } = useShown();
  const [size, setSize] = useState<Size | "unknown" | null>(null);
  const [probing, setProbing] = useState(true);
  const place = useRef<HTMLDivElement>(null);
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}"><style>${PAPER}</style><body>${html}`;
  useLayoutEffect(() => {
    if (size === null) gate.need(id, label, "open");
    else gate.reached(id, "open");
  }, [size, gate, id, label]);
  useEffect(() => {
    let width = place.current?.clientWidth;
    const observer = new ResizeObserver(([entry]) => {
      const now = entry?.target.clientWidth;
      if (now !== width) setProbing(true);
      width = now;
    });
    if (place.current) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  const measure = (probe: HTMLIFrameElement) => {
    setSize(sizeOf(probe) ?? "unknown");
    setProbing(false);
  };
  const frame = (style: Partial<Size>) => (
    <iframe sandbox="" referrerpolicy="no-referrer" title={label} srcdoc={page} style={style} />
  );
  const whole = size !== "unknown";
  return (
    <div class="framed">
      {!whole && (
        <>
          <div class="loose">{frame({})}</div>
          <p class="cut">{say("preview.html.words")}</p>
        </>
      )}
      <ScrollBlock id={id} label={label} on={size !== null}>
        <div class="paper" ref={place}>
          {whole ? frame(size ?? {}) : <Prose html={html} />}
          {probing && (
            // It may be looked into, and so measured; it runs and loads as little as what is seen.
            <iframe
              class="probe"
              sandbox="allow-same-origin"
              referrerpolicy="no-referrer"
              aria-hidden="true"
              tabIndex={-1}
              title={label}
              srcdoc={page}
              onLoad={(event) => measure(event.currentTarget)}
            />
          )}
        </div>
      </ScrollBlock>
      <p class="cut">{say("preview.html")}</p>
    </div>
  );
}

/** How large a frame has to be so that all of it is in view; null where there is no such size. */
function sizeOf(probe: HTMLIFrameElement): Size | null {
  const page = probe.contentDocument;
  const root = page?.documentElement;
  // What moves is another page later.
  if (!root || page.getAnimations().length > 0) return null;
  if ([...root.querySelectorAll("body, body *")].some(hides)) return null;
  // A page may grow with its frame: measured until it fits, and not for ever.
  for (let i = 0; i < 4; i++) {
    const size = { width: root.scrollWidth, height: root.scrollHeight };
    if (size.width > MOST || size.height > MOST) return null;
    const fits = size.width <= probe.clientWidth && size.height <= probe.clientHeight;
    if (fits) return textsOf(page).every((text) => stands(text, size)) ? size : null;
    probe.style.width = `${Math.max(size.width, probe.clientWidth)}px`;
    probe.style.height = `${size.height}px`;
  }
  return null;
}

/** What a part has that hides nothing of it; with anything else it may be drawn only partly. */
const DRAWN = {
  visibility: "visible",
  contentVisibility: "visible",
  clip: "auto",
  clipPath: "none",
  maskImage: "none",
  filter: "none",
  mixBlendMode: "normal",
  pointerEvents: "auto",
} as const;

/** Whether a part of the page scrolls, is cut or is not to be seen, by itself. */
function hides(part: Element): boolean {
  const style = part.ownerDocument.defaultView?.getComputedStyle(part);
  if (!style) return false;
  const drawn = Object.entries(DRAWN).every(
    ([name, plain]) => (style[name as keyof typeof DRAWN] ?? plain) === plain,
  );
  if (!drawn || Number(style.opacity) < FAINT || writes(part)) return true;
  if (style.overflow === "visible" && style.contain === "none") return false;
  return part.scrollHeight > part.clientHeight + 4 || part.scrollWidth > part.clientWidth + 4;
}

const FAINT = 0.5;

/** Whether the style sheet writes words before or after a part: they are none of the page's. */
const writes = (part: Element): boolean =>
  ["::before", "::after"].some((pseudo) => {
    const style = part.ownerDocument.defaultView?.getComputedStyle(part, pseudo);
    return !["none", "normal", '""'].includes(style?.content ?? "none");
  });

/** Of a colour's 255 parts: ink that differs less from its ground is not read. */
const PALE = 48;

/** Red, green, blue and how much it covers; null for a colour that is written in another way. */
const coloured = (written: string): number[] | null => {
  const [r, g, b, a = 1] = /^rgba?\(/.test(written)
    ? (written.match(/[\d.]+/g) ?? []).map(Number)
    : [];
  return r === undefined || g === undefined || b === undefined ? null : [r, g, b, a];
};

/** Whether words in a part are drawn in the colour of what is behind them, or in none. */
function pale(part: Element): boolean {
  const styleOf = (of: Element) => of.ownerDocument.defaultView?.getComputedStyle(of);
  const ink = coloured(styleOf(part)?.webkitTextFillColor ?? "");
  if (!ink || (ink[3] ?? 0) < FAINT) return true;
  for (let at: Element | null = part; at; at = at.parentElement) {
    const ground = coloured(styleOf(at)?.backgroundColor ?? "");
    if (!ground) return true;
    if ((ground[3] ?? 0) < FAINT) continue;
    return ground.slice(0, 3).every((n, i) => Math.abs(n - (ink[i] ?? 0)) < PALE);
  }
  return false;
}

/** What can be read in the page. */
function textsOf(page: Document): globalThis.Node[] {
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const texts: globalThis.Node[] = [];
  for (let text = walker.nextNode(); text; text = walker.nextNode())
    if (text.nodeValue?.trim() && text.parentElement?.localName !== "style") texts.push(text);
  return texts;
}

/** Of a line of text, in pixels: what is smaller is not read. */
const LEAST = 4;

/** Whether a text has its place on a page of that size. */
function stands(text: globalThis.Node, size: Size): boolean {
  const range = text.ownerDocument?.createRange();
  if (!range) return false;
  range.selectNodeContents(text);
  const { left, top, right, bottom, width, height } = range.getBoundingClientRect();
  const within = left > -1 && top > -1 && right < size.width + 1 && bottom < size.height + 1;
  const part = text.parentElement;
  if (!within || width === 0 || height < LEAST || !part || pale(part)) return false;
  return [...range.getClientRects()].every((line) => isOnTop(part, line));
}

/** Whether nothing stands over the middle of a line of a part's words. */
function isOnTop(part: Element, line: DOMRect): boolean {
  const hit = part.ownerDocument.elementFromPoint(
    line.left + line.width / 2,
    line.top + line.height / 2,
  );
  return line.width === 0 || (hit !== null && (part.contains(hit) || hit.contains(part)));
}

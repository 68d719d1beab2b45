// HTML that the kernel has sanitised, of Markdown or of a page, drawn again from known elements:
// whatever else there is becomes text, and no attribute comes along.
import { type ComponentChild, h } from "preact";
import { useMemo } from "preact/hooks";
import { Revealed } from "./text";

const KNOWN = new Set(
  (
    "p br hr em strong s del code pre blockquote ul ol li " +
    "table caption thead tbody tfoot tr th td h1 h2 h3 h4 h5 h6 " +
    "div section figure figcaption dl dt dd"
  ).split(" "),
);
/** Headings are the tool's, not the card's: drawn as strong lines. */
const HEADING = /^h[1-6]$/;

export function Prose({ html }: { html: string }) {
  // A document that is only parsed: nothing in it runs or loads.
  const body = useMemo(() => new DOMParser().parseFromString(html, "text/html").body, [html]);
  return <div class="prose">{children(body)}</div>;
}

const children = (node: globalThis.Node): ComponentChild[] =>
  [...node.childNodes].map((child, i) => draw(child, i));

function draw(node: globalThis.Node, key: number): ComponentChild {
  if (node.nodeType === globalThis.Node.TEXT_NODE)
    return <Revealed key={key} text={node.nodeValue ?? ""} />;
  if (node.nodeType !== globalThis.Node.ELEMENT_NODE) return null;
  const tag = (node as Element).localName;
  if (tag === "style") return null;
  if (!KNOWN.has(tag)) return children(node);
  if (tag === "br" || tag === "hr") return h(tag, { key });
  if (HEADING.test(tag))
    return (
      <p key={key} class="heading">
        <strong>{children(node)}</strong>
      </p>
    );
  return h(tag, { key }, children(node));
}

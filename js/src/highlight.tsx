// Code in colours: SQL, Python, JSON, shell and diffs, told by the argument's name or its text.
import type { ComponentChild } from "preact";
import { hasHidden } from "./reveal";

type Lang = "sql" | "python" | "json" | "shell" | "diff";

/** Longer texts stay plain: colour is not worth a slow card. */
const MOST = 20_000;

const WORDS: Record<"sql" | "python" | "shell", RegExp> = {
  sql: /^(select|from|where|and|or|not|insert|into|values|update|set|delete|drop|table|create|alter|truncate|join|left|right|inner|outer|on|group|order|by|having|limit|as|null|is|in|like|grant|revoke|with|union|all|distinct|cascade)$/i,
  python:
    /^(def|class|return|import|from|as|if|elif|else|for|while|in|not|and|or|is|None|True|False|try|except|finally|with|lambda|yield|await|async|raise|pass|del|global|nonlocal|assert|break|continue)$/,
  shell:
    /^(sudo|rm|cd|mv|cp|ls|cat|echo|export|if|then|fi|for|do|done|while|curl|wget|git|chmod|chown|kill|dd|mkfs)$/,
};

const COMMENT = { sql: "--[^\\n]*", python: "#[^\\n]*", shell: "(?<=^|\\s)#[^\\n]*", json: "(?!)" };

export function detect(text: string, name: string): Lang | null {
  const hint = name.toLowerCase();
  if (
    /^(sql|query|statement)$/.test(hint) &&
    /\b(select|insert|update|delete|drop|create|alter|with)\b/i.test(text)
  )
    return "sql";
  if (/^(cmd|command|shell|bash|script)$/.test(hint)) return "shell";
  if (/^(python|code|source)$/.test(hint)) return "python";
  if (/^(diff|patch)$/.test(hint) || /^(diff --git|--- .+\n\+\+\+ )/m.test(text)) return "diff";
  if (
    /^\s*(select|insert into|update|delete from|drop|create|alter|with)\s/i.test(text) &&
    /;|\bfrom\b|\bset\b|\btable\b/i.test(text)
  )
    return "sql";
  if (/^\s*[[{]/.test(text) && /[\]}]\s*$/.test(text)) return "json";
  if (/^#!.*sh\b/.test(text)) return "shell";
  if (/^\s*(def|class|import|from \S+ import|async def)\s/m.test(text)) return "python";
  return null;
}

/** Coloured pieces, or null for text that is shown plain. */
export function highlight(text: string, name: string): ComponentChild[] | null {
  if (text.length > MOST || hasHidden(text)) return null;
  const lang = detect(text, name);
  if (lang === null) return null;
  return lang === "diff" ? diffLines(text) : tokens(text, lang);
}

function diffLines(text: string): ComponentChild[] {
  return text.split(/(?<=\n)/).map((line) => {
    const kind = line.startsWith("+")
      ? "add"
      : line.startsWith("-")
        ? "del"
        : line.startsWith("@@")
          ? "t-key"
          : "";
    return <span class={kind}>{line}</span>;
  });
}

function tokens(text: string, lang: "sql" | "python" | "json" | "shell"): ComponentChild[] {
  const pattern = new RegExp(
    `(${COMMENT[lang]})|("""[^]*?"""|"(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*')|(\\b\\d[\\d_.]*\\b)|(\\b[A-Za-z_]\\w*\\b)`,
    "gm",
  );
  const out: ComponentChild[] = [];
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const kind = match[1]
      ? "t-comment"
      : match[2]
        ? "t-str"
        : match[3]
          ? "t-int"
          : word(match[0], lang);
    if (!kind) continue;
    out.push(text.slice(from, match.index), <span class={kind}>{match[0]}</span>);
    from = match.index + match[0].length;
  }
  out.push(text.slice(from));
  return out;
}

function word(text: string, lang: Lang): string {
  if (lang === "json") return /^(true|false|null)$/.test(text) ? "t-bool" : "";
  return lang !== "diff" && WORDS[lang].test(text) ? "t-word" : "";
}

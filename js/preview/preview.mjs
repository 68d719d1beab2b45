// `npm run preview -- out.png [locale]`: a picture of every state, light beside dark.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright";
import { options } from "../build.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [out = "preview.png", locale = "en"] = process.argv.slice(2);

const folder = join(here, "..", "tests", "fixtures");
const fixtures = Object.fromEntries(
  readdirSync(folder).map((name) => [
    name.replace(".json", ""),
    JSON.parse(readFileSync(join(folder, name), "utf8")),
  ]),
);
const { outputFiles } = await build({
  ...options,
  entryPoints: ["preview/page.ts"],
  define: { FIXTURES: JSON.stringify(fixtures) },
  write: false,
  minify: false,
});
const css = `
  body { margin: 0; display: grid; grid-template-columns: 1fr 1fr; }
  main { padding: 16px 20px; min-width: 0; }
  main.light { color-scheme: light; background: #fff; --jp-layout-color1: #fff; --jp-ui-font-color1: #1f2328; }
  main.dark { color-scheme: dark; background: #111; --jp-layout-color1: #161a1f; --jp-ui-font-color1: #e6edf3; }
  h2 { font: 600 12px system-ui; color: GrayText; margin: 14px 0 4px; }
`;
const page = join(process.env.TMPDIR ?? "/tmp", "hitl-preview.html");
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>preview</title><style>${css}</style><body><script type="module">${outputFiles[0].text.replaceAll("</script", "<\\/script")}</script></body></html>`;
writeFileSync(page, html);

const debian = "/usr/bin/chromium";
const browser = await chromium.launch({
  args: ["--no-sandbox", "--disable-gpu"],
  ...(existsSync(debian) ? { executablePath: debian } : {}),
});
const view = await browser.newPage({ viewport: { width: 1400, height: 900 } });
view.on("pageerror", (error) => console.error(error));
await view.goto(`${pathToFileURL(page)}?locale=${locale}`);
await view.waitForTimeout(2600);
const click = async (name) => {
  for (const button of await view.getByRole("button", { name }).all()) await button.click();
};
await click(/^Compare with/);
await view.waitForTimeout(200);
await view.screenshot({ path: out, fullPage: true });
await browser.close();

// A finding as Markdown, for an issue or a chat. What a client chose stays text: it formats, links and mentions nothing.

import { plural, words } from "./format.js";
import { href } from "./route.js";

const SPECIAL = /[\\`*_{}[\]<>()#+\-.!|~:&$=^]/g;
const AT = /@/g;

export const plain = (text) => text.replace(/\s+/g, " ").replace(SPECIAL, "\\$&").replace(AT, "@\u2060");

// A fence is longer than any run of backticks within.
export function code(text) {
  const line = text.replace(/\s+/g, " ");
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}

// Rules write code between two backticks.
const marked = (text) =>
  text
    .split("``")
    .map((part, i, all) => (i % 2 && i < all.length - 1 ? code(part) : plain(part)))
    .join("");

// Without the rest of the state of this window's address.
export const permanent = (view, params) => new URL(href(view, params), location.href).href;

const date = (ms) => `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** @param {any} finding @param {string | undefined} why */
export function findingAsMarkdown(finding, why) {
  const { settings = [], clients = [] } = finding;
  const withheld = (setting) =>
    setting.value === null || setting.value === undefined ? `${setting.key}, withheld` : `${setting.key}=${setting.value}`;
  const lines = [
    ["Why", why && marked(why)],
    ["Use instead", finding.use_instead && marked(finding.use_instead)],
    ["Settings", settings.map((setting) => code(withheld(setting))).join(", ")],
    ["State", `${plain(finding.state)} since ${date(finding.opened_ms)}`],
    ["Clients that have it now", plural(finding.client_count ?? 0, "client")],
    [
      "Named",
      clients
        .slice(0, 5)
        .map((client) => plain(client.client_id || client.address || "no client id"))
        .join(", "),
    ],
    ["Owner", finding.owner && `${plain(finding.owner.team)}, ${plain(finding.owner.contact)}`],
    ["Finding", `<${permanent("finding", { id: finding.fingerprint })}>`],
  ].filter(([, text]) => text);
  return [
    `**${plain(finding.severity)}, ${plain(finding.code)} ${plain(words(finding.name))}**: ${marked(finding.message)}`,
    "",
    ...lines.map(([name, text]) => `- ${name}: ${text}`),
    "",
  ].join("\n");
}

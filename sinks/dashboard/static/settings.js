// A setting that a rule names: its value, or why that isn't shown.

import { el, setText, word } from "./dom.js";
import { plural, words } from "./format.js";

export function createSetting() {
  const key = word("", { class: "key" });
  const detail = el("bdi", { class: "detail" });
  const node = el("li", { class: "setting" }, key, detail);
  node.update = (setting) => {
    const redacted = setting.value === null;
    setText(key, setting.key);
    const length = setting.length === null ? "" : plural(setting.length, "byte");
    const digest = setting.digest ? `digest ${setting.digest.slice(0, 12)}…` : "";
    const value = `= ${setting.value}${setting.origin === "default" ? " by default" : ""}`;
    setText(detail, redacted ? [setting.reason && words(setting.reason), length, digest].filter(Boolean).join(", ") : value);
    node.classList.toggle("redacted", redacted);
  };
  return node;
}

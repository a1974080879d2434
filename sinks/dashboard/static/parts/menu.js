// A menu that opens below its button: a press elsewhere closes it, as Escape does.

import { useEffect, useRef } from "../core/html.js";

// Returns the ref of its <details>.
export function useMenu() {
  const menu = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  useEffect(() => {
    const away = (event) => {
      if (menu.current?.open && (event.type === "keydown" ? event.key === "Escape" : !menu.current.contains(event.target)))
        menu.current.open = false;
    };
    addEventListener("pointerdown", away);
    addEventListener("keydown", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("keydown", away);
    };
  }, []);
  return menu;
}

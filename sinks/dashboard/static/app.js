// The page: which view is shown, and what stands around it.

import { signedOut } from "./core/api.js";
import * as feed from "./core/feed.js";
import { html, render, useEffect, useRef } from "./core/html.js";
import * as keys from "./core/keys.js";
import * as routes from "./core/route.js";
import { followTheme, settings } from "./core/settings.js";
import { useSignal } from "./core/signal.js";
import { Bar, Foot, Help, Notices, SignIn } from "./parts/frame.js";
import { HOME, viewOf } from "./views.js";

function Page() {
  const { view, params } = routes.useRoute();
  const out = useSignal(signedOut);
  const stale = useSignal(feed.feed, ({ overview, link }) => Boolean(overview) && (link === "lost" || overview.feed === "unreachable"));
  useSignal(settings);
  const dialog = useRef(null);
  const known = viewOf(view);
  const help = () => (dialog.current?.open ? dialog.current.close() : dialog.current?.showModal());
  useEffect(() => keys.listen(help), []);
  useEffect(() => {
    document.title = known && known !== HOME ? `${known.title} · clientscope` : "clientscope";
  }, [view]);
  if (out) return html`<${SignIn} />`;
  const View = (known ?? HOME).draw;
  return html`<a class="skip" href="#main">Skip to content</a>
    <${Bar} help=${help} />
    <main id="main" tabindex="-1" class=${`view-${view}${stale ? " stale" : ""}`}><${Notices} /><${View} key=${`${view} ${params.key ?? params.id ?? ""}`} /></main>
    <${Foot} /><${Help} dialog=${dialog} />`;
}

followTheme();
routes.listen();
feed.follow();
render(html`<${Page} />`, document.getElementById("page"));

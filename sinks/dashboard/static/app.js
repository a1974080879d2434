// The page: which view is shown, and what stands around it.

import { signedOut } from "./core/api.js";
import * as feed from "./core/feed.js";
import { html, render, useEffect, useRef } from "./core/html.js";
import * as keys from "./core/keys.js";
import * as routes from "./core/route.js";
import { followTheme, settings } from "./core/settings.js";
import { useSignal } from "./core/signal.js";
import { Bar, Foot, Help, Notices, SignIn } from "./parts/frame.js";
import { Brokers } from "./views/brokers.js";
import { Client } from "./views/client.js";
import { Clients } from "./views/clients.js";
import { Finding } from "./views/finding.js";
import { Findings } from "./views/findings.js";
import { History } from "./views/history.js";
import { Overview } from "./views/overview.js";

const VIEWS = { overview: Overview, clients: Clients, client: Client, findings: Findings, finding: Finding, brokers: Brokers, history: History };
const TITLES = { clients: "Clients", client: "Client", findings: "Findings", finding: "Finding", brokers: "Brokers", history: "History" };

function Page() {
  const { view, params } = routes.useRoute();
  const out = useSignal(signedOut);
  const stale = useSignal(feed.feed, ({ overview, link }) => Boolean(overview) && (link === "lost" || overview.feed === "unreachable"));
  useSignal(settings);
  const dialog = useRef(null);
  const help = () => (dialog.current?.open ? dialog.current.close() : dialog.current?.showModal());
  useEffect(() => keys.listen(help), []);
  useEffect(() => {
    document.title = TITLES[view] ? `${TITLES[view]} · clientscope` : "clientscope";
  }, [view]);
  if (out) return html`<${SignIn} />`;
  const View = VIEWS[view] ?? Overview;
  return html`<a class="skip" href="#main">Skip to content</a>
    <${Bar} help=${help} />
    <main id="main" tabindex="-1" class=${`view-${view}${stale ? " stale" : ""}`}><${Notices} /><${View} key=${`${view} ${params.key ?? params.id ?? ""}`} /></main>
    <${Foot} /><${Help} dialog=${dialog} />`;
}

followTheme();
routes.listen();
feed.follow();
render(html`<${Page} />`, document.getElementById("page"));

// Every view: one line each.  The bar lists them in this order; keys, titles and the way back follow.
//
// name: in the address, `?view=name`, and the class of <main>, `view-name`
// title: in the bar and in the window's title
// key: goes there after g
// searches: has a box to search in, which is drawn with its heading
// within: the view that it belongs to: it isn't in the bar, and Esc goes back there
// draw: the component; all but the first view are loaded when they are first shown

import { later } from "./parts/later.js";
import { Overview } from "./views/overview.js";

const Brokers = later(() => import("./views/brokers.js").then((view) => view.Brokers));
const Client = later(() => import("./views/client.js").then((view) => view.Client));
const Clients = later(() => import("./views/clients.js").then((view) => view.Clients));
const Finding = later(() => import("./views/finding.js").then((view) => view.Finding));
const Findings = later(() => import("./views/findings.js").then((view) => view.Findings));
const History = later(() => import("./views/history.js").then((view) => view.History));
const Readiness = later(() => import("./views/readiness.js").then((view) => view.Readiness));
const Rule = later(() => import("./views/rule.js").then((view) => view.Rule));

export const VIEWS = [
  { name: "overview", title: "Overview", key: "o", draw: Overview },
  { name: "clients", title: "Clients", key: "c", searches: true, draw: Clients },
  { name: "client", title: "Client", within: "clients", draw: Client },
  { name: "findings", title: "Findings", key: "f", searches: true, draw: Findings },
  { name: "finding", title: "Finding", within: "findings", draw: Finding },
  { name: "rule", title: "Rule", within: "findings", draw: Rule },
  { name: "brokers", title: "Brokers", key: "b", searches: true, draw: Brokers },
  { name: "readiness", title: "Readiness", key: "r", draw: Readiness },
  { name: "history", title: "History", key: "h", searches: true, draw: History },
];

// In the bar.
export const MAIN = VIEWS.filter((view) => !view.within);

// Where the page begins; an unknown name shows it, too.
export const HOME = VIEWS[0];

export const viewOf = (name) => VIEWS.find((view) => view.name === name);

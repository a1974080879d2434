// Every view: one line each.  The bar lists them in this order; keys, titles and the way back follow.
//
// name: in the address, `?view=name`, and the class of <main>, `view-name`
// title: in the bar and in the window's title
// key: goes there after g
// within: the view that it belongs to: it isn't in the bar, and Esc goes back there
// draw: the component

import { Brokers } from "./views/brokers.js";
import { Client } from "./views/client.js";
import { Clients } from "./views/clients.js";
import { Finding } from "./views/finding.js";
import { Findings } from "./views/findings.js";
import { History } from "./views/history.js";
import { Overview } from "./views/overview.js";
import { Readiness } from "./views/readiness.js";
import { Rule } from "./views/rule.js";

export const VIEWS = [
  { name: "overview", title: "Overview", key: "o", draw: Overview },
  { name: "clients", title: "Clients", key: "c", draw: Clients },
  { name: "client", title: "Client", within: "clients", draw: Client },
  { name: "findings", title: "Findings", key: "f", draw: Findings },
  { name: "finding", title: "Finding", within: "findings", draw: Finding },
  { name: "rule", title: "Rule", within: "findings", draw: Rule },
  { name: "brokers", title: "Brokers", key: "b", draw: Brokers },
  { name: "readiness", title: "Readiness", key: "r", draw: Readiness },
  { name: "history", title: "History", key: "h", draw: History },
];

// In the bar.
export const MAIN = VIEWS.filter((view) => !view.within);

// Where the page begins; an unknown name shows it, too.
export const HOME = VIEWS[0];

export const viewOf = (name) => VIEWS.find((view) => view.name === name);

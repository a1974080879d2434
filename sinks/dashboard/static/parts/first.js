// How the first client connects, in three lines.

import { html } from "../core/html.js";
import { Code } from "./bits.js";

const NO_GATEWAY = [
  [
    "In the broker's server.properties, let the clients' listener advertise the gateway",
    "advertised.listeners=CLIENT://HOST:9092,INTERNAL://HOST:19092",
  ],
  [
    "Start the gateway before the broker",
    "clientscope gateway --bootstrap-servers HOST:19092 --listen HOST:9092 --upstream 127.0.0.1:19091",
  ],
  ["Start any client; one made by this class pushes its configuration too", "from clientscope.client import KafkaProducer"],
];

const NO_CLIENT = [
  ["Let any client connect to the address that the brokers advertise, as before", "bootstrap.servers=HOST:9092"],
  ["Let a Python program push its configuration, too", "from clientscope.client import KafkaProducer"],
  ["See on a terminal who is connected", "clientscope clients"],
];

export const FirstClient = ({ hasGateway }) =>
  html`<ol class="first-client">${(hasGateway ? NO_CLIENT : NO_GATEWAY).map(([what, line]) => html`<li><span class="muted">${what}:</span> <${Code}>${line}<//></li>`)}</ol>`;

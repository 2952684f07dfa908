// The shared worker around the hub: one for all tabs.

import { Hub } from "./hub.js";

const hub = new Hub();

self.onconnect = ({ ports }) => hub.connect(ports[0]);

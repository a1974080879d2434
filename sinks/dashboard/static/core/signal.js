// A value that components follow.

import { useEffect, useState } from "./html.js";

export class Signal {
  constructor(value) {
    this.value = value;
    this.followers = new Set();
  }

  set(value) {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const follower of [...this.followers]) follower(value);
  }

  follow(follower) {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }
}

// The signal's value; the component is drawn again when what select makes of it changes.
export function useSignal(signal, select = (value) => value) {
  const selected = select(signal.value);
  const [, redraw] = useState(selected);
  useEffect(() => {
    redraw(select(signal.value));
    return signal.follow((value) => redraw(select(value)));
  }, [signal]);
  return selected;
}

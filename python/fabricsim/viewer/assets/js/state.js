// State of the page. Parts of the page listen for the keys that they depend on.

export class State {
  #values;
  #listeners = [];
  #changed = new Set();

  constructor(values) {
    this.#values = values;
  }

  get(key) {
    return this.#values[key];
  }

  // Sets values and calls each listener of a changed key once.
  set(values) {
    for (const [key, value] of Object.entries(values)) {
      if (this.#values[key] !== value) {
        this.#values[key] = value;
        this.#changed.add(key);
      }
    }
    const changed = this.#changed;
    this.#changed = new Set();
    for (const { keys, call } of this.#listeners) if (keys.some((key) => changed.has(key))) call();
  }

  // Calls `call` now, and whenever one of the keys changes.
  on(keys, call) {
    this.#listeners.push({ keys, call });
    call();
  }
}

/* Search in pages that were opened from a folder. Browsers start no worker for file: addresses, and the theme would fetch
   a replacement from the network. Here the worker's script runs in a hidden frame of the page instead. */
if (location.protocol === "file:") {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.waiting = []; // messages sent before the script has run
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = data => this.deliver(data);
      inner.importScripts = (...addresses) => Promise.all(addresses.map(each => this.load(frame, each)));
      this.load(frame, address).then(() => {
        this.inner = inner;
        this.waiting.forEach(data => this.postMessage(data));
      });
    }

    load(frame, address) {
      return new Promise((resolve, reject) => {
        const script = frame.contentDocument.createElement("script");
        script.src = address;
        script.onload = resolve;
        script.onerror = () => reject(new Error(`${address} cannot be read`));
        frame.contentDocument.body.append(script);
      });
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }

    deliver(data) {
      const message = new MessageEvent("message", { data });
      this.dispatchEvent(message);
      if (this.onmessage) this.onmessage(message);
    }
  };
}

// Makes the modules of this page importable under their names, unpacks library and runs, and starts the viewer.
// A classic script: modules of a page that is opened from a disk cannot import files beside it.
(async () => {
  "use strict";

  function bytesOf(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const characters = atob(text);
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = characters.charCodeAt(i);
    return bytes;
  }

  async function unpacked(element) {
    const stream = new Blob([bytesOf(element.textContent.trim())]).stream();
    element.remove(); // its text is as long as the run is large
    return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  const urlOf = (content) => URL.createObjectURL(new Blob([content], { type: "text/javascript" }));

  try {
    const imports = { three: urlOf(await unpacked(document.getElementById("library"))) };
    for (const element of document.querySelectorAll("script.module")) {
      const { name } = element.dataset;
      imports[name] = urlOf(`${element.textContent}\n//# sourceURL=${name}`);
    }
    const map = document.createElement("script");
    map.type = "importmap";
    map.textContent = JSON.stringify({ imports });
    document.head.append(map);
    const { start } = await import("viewer/main.js");
    const buffers = await Promise.all([...document.querySelectorAll("script.run")].map(unpacked));
    start(buffers);
    document.body.dataset.state = "ready";
  } catch (error) {
    const failure = document.getElementById("failure");
    failure.hidden = false;
    failure.textContent =
      `The viewer cannot start: ${error.message.replace(/\.$/, "")}. It needs WebGL 2 and a browser of 2023 or later.`;
    document.body.dataset.state = "failed";
    console.error(error);
  }
})();

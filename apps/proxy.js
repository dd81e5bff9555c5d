// Relays messages between the page and the document, and keeps all others out.
const { page, app, url, html, allow, sandbox } = JSON.parse(document.getElementById("config").textContent);
const insert = (title) => Object.assign(document.createElement("iframe"), { sandbox, title });
const frame = insert("MCP App");
frame.allow = allow;
const isOurs = ({ method }) => typeof method === "string" && method.startsWith("ui/notifications/sandbox-");

// The checker has the document's origin, and so can read it. The page cannot.
let checker;
const check = () => {
  checker?.remove();
  checker = insert("Accessibility check");
  checker.hidden = true;
  checker.src = url + "/check";
  document.body.append(checker);
};
const checked = (params) => {
  checker.remove();
  checker = undefined;
  parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-checked", params }, page);
};

addEventListener("message", ({ source, origin, data }) => {
  if (checker && source === checker.contentWindow && origin === app) return checked(data);
  if (data?.jsonrpc !== "2.0") return;
  if (source === parent && origin === page) {
    if (!isOurs(data)) frame.contentWindow?.postMessage(data, app === "null" ? "*" : app);
    else if (!frame.isConnected) {
      if (url) frame.src = url;
      else frame.srcdoc = html;
      document.body.append(frame);
    } else if (data.method === "ui/notifications/sandbox-check" && url) check();
  } else if (source && source === frame.contentWindow && origin === app && !isOurs(data)) {
    parent.postMessage(data, page);
  }
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, page);

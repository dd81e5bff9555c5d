// Relays messages between the page and the document, and keeps all others out.
const { page, app, url, html, allow, sandbox } = JSON.parse(document.getElementById("config").textContent);
const frame = document.createElement("iframe");
frame.sandbox = sandbox;
frame.allow = allow;
frame.title = "MCP App";
const isOurs = ({ method }) => typeof method === "string" && method.startsWith("ui/notifications/sandbox-");

addEventListener("message", ({ source, origin, data }) => {
  if (data?.jsonrpc !== "2.0") return;
  if (source === parent && origin === page) {
    if (!isOurs(data)) frame.contentWindow?.postMessage(data, app === "null" ? "*" : app);
    else if (!frame.isConnected) {
      if (url) frame.src = url;
      else frame.srcdoc = html;
      document.body.append(frame);
    }
  } else if (source && source === frame.contentWindow && origin === app && !isOurs(data)) {
    parent.postMessage(data, page);
  }
});
parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, page);

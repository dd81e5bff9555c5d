// The host page: the official app-bridge around one frame. browser.mjs bundles it,
// and apps.mjs drives it.

import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const capabilities = {
  openLinks: {}, downloadFile: {}, serverTools: {}, serverResources: {}, logging: {},
  message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} },
};

// What the host answers to the frame. window.server reaches the MCP server.
const answers = {
  onmessage: async () => ({}),
  onopenlink: async ({ url }) => (url.startsWith('https:') ? {} : { isError: true }),
  ondownloadfile: async () => ({}),
  onupdatemodelcontext: async () => ({}),
  onrequestdisplaymode: async ({ mode }) => ({ mode }),
  oncalltool: (params) => (params.name === 'never' ? new Promise(() => {}) : toServer('callTool', params)),
  onreadresource: (params) => toServer('readResource', params),
  onlistresources: (params) => toServer('listResources', params ?? {}),
};
const asked = /unknown message ID.*"id":"asked/;
const events = ['onsizechange', 'oninitialized', 'onrequestteardown', 'onloggingmessage'];

async function toServer(method, params) {
  const { result, error } = await window.server(method, params);
  if (error) throw Object.assign(new Error(error.message), error);
  return result;
}

// A Stage is a frame and the bridge to it.
window.Stage = class Stage {
  seen = [];
  wire = [];

  constructor(hostContext) {
    this.frame = document.body.appendChild(document.createElement('iframe'));
    this.frame.style.cssText = 'width: 400px; height: 50px; border: 0';
    this.bridge = new AppBridge(null, { name: 'interop-host', version: '4.5.6' }, capabilities, { hostContext });
    for (const [name, answer] of Object.entries(answers)) {
      this.bridge[name] = (params) => {
        this.seen.push({ event: name, params });
        return answer(params);
      };
    }
    for (const name of events) this.bridge[name] = (params) => this.seen.push({ event: name, params });
    this.bridge.onerror = (error) => asked.test(error) || this.seen.push({ event: 'error', params: String(error) });
    addEventListener('message', ({ source, data, origin }) => {
      if (source === this.frame.contentWindow) this.wire.push({ ...data, origin });
    });
  }

  // open shows a document: html in an origin without a name, or what is at src.
  async open({ html, src }) {
    const view = this.frame.contentWindow;
    await this.bridge.connect(new PostMessageTransport(view, view));
    this.frame.sandbox = html ? 'allow-scripts' : 'allow-scripts allow-same-origin';
    if (html) this.frame.srcdoc = html;
    else this.frame.src = src;
  }

  // ask sends a request that the bridge has no method for, and whose answer the
  // bridge does not expect. Its id begins with "asked".
  ask(message) {
    return new Promise((resolve) => {
      const listen = ({ source, data }) => {
        if (source !== this.frame.contentWindow || data.id !== message.id || data.method) return;
        removeEventListener('message', listen);
        resolve(data);
      };
      addEventListener('message', listen);
      this.frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
    });
  }
};

/** Types of host.js. */

export type Params = Record<string, unknown>;
export type DisplayMode = "inline" | "fullscreen" | "pip";
export type Theme = "light" | "dark";

/** Violation is a load that was refused, or a declared origin that was dropped (reason). */
export interface Violation {
  directive: string;
  blocked: string;
  file?: string;
  line?: number;
  column?: number;
  sample?: string;
  reason?: string;
}

/** View is the JSON form of apps.View in Go. */
export interface View {
  id: string;
  proxyURL: string;
  fallbackURL?: string;
  checks?: boolean;
  allow: string;
  tool: { name: string; [member: string]: unknown };
  resource: string;
  bytes: number;
  grant: { csp: Record<string, string[]>; permissions: Record<string, object>; dropped?: Violation[]; mode: "strict" | "compatible" };
  policy: string;
  prefersBorder?: boolean;
}

/** AccessibilityFinding is a rule of axe-core that elements of a document violate. */
export interface AccessibilityFinding {
  rule: string;
  /** minor, moderate, serious, critical, or "" */
  impact: string;
  help: string;
  helpURL: string;
  /** How many elements there are; nodes has the first five. */
  count: number;
  nodes: { html: string; target: string }[];
}

/** HostContext is what the app knows about its surroundings. */
export interface HostContext {
  toolInfo?: { id?: string | number; tool: unknown };
  theme?: Theme;
  styles?: { variables?: Record<string, string>; css?: { fonts?: string } };
  displayMode?: DisplayMode;
  availableDisplayModes?: DisplayMode[];
  containerDimensions?: { width?: number; height?: number; maxWidth?: number; maxHeight?: number };
  locale?: string;
  timeZone?: string;
  userAgent?: string;
  platform?: "web" | "desktop" | "mobile";
  deviceCapabilities?: { touch?: boolean; hover?: boolean };
  safeAreaInsets?: { top: number; right: number; bottom: number; left: number };
}

export interface Options {
  frame: HTMLIFrameElement;
  view: View;
  /** Passes a request to View.ServeHTTP; rejects with { code, message, data }. */
  request(method: string, params: Params): Promise<unknown>;
  context?: HostContext;
  hostInfo?: { name: string; version: string };
  /** Added to the declared host capabilities. */
  capabilities?: Params;
  /** Time for an answer of the app in ms (30000). */
  timeout?: number;
  /** Time in ms (2000) after the frame has loaded something, in which the proxy page must report ready; then fallbackURL is used. */
  fallbackAfter?: number;
}

/** loading: no proxy page yet; proxy: the document loads; initializing: ui/initialize was answered. */
export type Phase = "loading" | "proxy" | "initializing" | "ready" | "closed" | "failed";

export interface Traffic {
  direction: "in" | "out";
  /** performance.now() */
  time: number;
  message: { jsonrpc: "2.0"; id?: string | number; method?: string; params?: Params; result?: unknown; error?: unknown };
}

export declare class AppHost {
  constructor(options: Options);
  readonly phase: Phase;
  readonly appInfo?: { name: string; version: string };
  readonly usesFallback: boolean;
  readonly context: HostContext;
  /** The app's: tools, availableDisplayModes, experimental. */
  readonly capabilities: Params;

  toolInput(args?: Params): void;
  toolInputPartial(args?: Params): void;
  toolResult(result: unknown): void;
  toolCancelled(reason?: string): void;
  setContext(changes: HostContext): void;
  teardown(reason?: string, timeout?: number): Promise<unknown>;
  close(): void;
  ping(): Promise<unknown>;
  /** Runs axe-core in the document; rejects if the view cannot (checks), or at the fallback address. */
  checkAccessibility(timeout?: number): Promise<AccessibilityFinding[]>;
  listTools(): Promise<{ tools: unknown[] }>;
  callTool(name: string, args?: Params): Promise<unknown>;
  request(method: string, params?: Params, timeout?: number): Promise<unknown>;
  notify(method: string, params?: Params): void;

  /** Set handlers right after the constructor. Those that may refuse return false. */
  onphase?: (phase: Phase) => void;
  ontraffic?: (traffic: Traffic) => void;
  onerror?: (error: Error) => void;
  onreload?: () => void;
  onopenlink?: (params: { url: string }) => unknown;
  ondownload?: (params: { contents: (Params & { fileName: string })[] }) => unknown;
  onmessage?: (params: { role: "user"; content: Params[] }) => unknown;
  onmodelcontext?: (params: { content?: Params[]; structuredContent?: unknown }) => unknown;
  /** Returns the mode that was set. */
  ondisplaymode?: (mode: DisplayMode) => DisplayMode | Promise<DisplayMode>;
  onsizechanged?: (size: { width?: number; height?: number }) => void;
  onrequestteardown?: (params: Params) => void;
  onlog?: (params: { level: string; data?: unknown; logger?: string }) => void;
  ontoolschanged?: () => void;
  oncancelled?: (params: Params) => void;
}

/** Controls is the form of host.json. */
export interface Controls {
  themes: Theme[];
  displayModes: DisplayMode[];
  locales: string[];
  devices: {
    name: string;
    width: number;
    height: number;
    platform: "web" | "desktop" | "mobile";
    deviceCapabilities: { touch: boolean; hover: boolean };
    safeAreaInsets: { top: number; right: number; bottom: number; left: number };
  }[];
  /** One value, or that for light and that for dark. */
  variables: Record<string, string | [string, string]>;
}

export declare function fileName(item: Params): string;
export declare function partialInputs(args: Params, steps?: number): Params[];
export declare function styleVariables(controls: Controls, theme: Theme): Record<string, string>;

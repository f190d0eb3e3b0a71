import { readFileSync } from "node:fs";
import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { connect as connectSocket, isIPv4 } from "node:net";

/** Where a sidecar listens when nobody says otherwise. */
export const DEFAULT_ADDRESS = "127.0.0.1:50051";

/** The token would go to another machine over a connection that everybody on the way can read. */
export class TokenInTheClear extends Error {
  override readonly name = "TokenInTheClear";

  constructor(host: string) {
    super(
      `the token of SIDEMIRROR_TOKEN_FILE does not go to ${host} without TLS: write https:// before the address, set ` +
        "tls: true, or name the authority's file in SIDEMIRROR_CA_FILE",
    );
  }
}

/** How a connection is made: the server's URL, and what Node.js's http2 is told. */
export interface Way {
  readonly baseUrl: string;
  readonly options: ClientSessionOptions | SecureClientSessionOptions;
}

/** What decides on the transport. File names are empty where there is none. */
export interface Secrets {
  readonly tls: boolean;
  readonly caFile: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly tokenFile: string;
}

/** The way to an address. Throws TokenInTheClear, TypeError for what is no address or has no port, and when a file cannot
 * be read. */
export function wayTo(address: string, secrets: Secrets): Way {
  if (address.startsWith("unix:")) {
    const path = address.slice("unix:".length);
    return { baseUrl: "http://localhost", options: { createConnection: () => connectSocket(path) } };
  }
  const [, scheme, target] = /^(?:(https?):\/\/)?(.*?)\/*$/.exec(address) as unknown as [string, string | undefined, string];
  const isTls = scheme === "https" || secrets.tls || secrets.caFile !== "";
  const written = `${isTls ? "https" : "http"}://${target}`;
  if (!URL.canParse(written) || new URL(written).pathname !== "/") {
    throw new TypeError(`the address ${JSON.stringify(address)} is none: give host:port, https://host:port or unix:/path`);
  }
  const url = new URL(written);
  if (!isTls) {
    if (!/:\d+$/.test(target)) {
      throw new TypeError(`the address "${address}" has no port: write ${target}:50051, or https://${target} for TLS at port 443`);
    }
    if (secrets.tokenFile !== "" && !isLoopback(url.hostname)) throw new TokenInTheClear(url.host);
    return { baseUrl: url.origin, options: {} };
  }
  return {
    baseUrl: url.origin,
    options: {
      ...(secrets.caFile === "" ? {} : { ca: readFileSync(secrets.caFile) }),
      ...(secrets.certificateFile === "" ? {} : { cert: readFileSync(secrets.certificateFile) }),
      ...(secrets.keyFile === "" ? {} : { key: readFileSync(secrets.keyFile) }),
    },
  };
}

/** `hostname` as a URL has it: numbers in their one form, IPv6 in brackets. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || (isIPv4(hostname) && hostname.startsWith("127."));
}

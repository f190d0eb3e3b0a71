import { readFileSync } from "node:fs";
import type { ClientSessionOptions, SecureClientSessionOptions } from "node:http2";
import { connect as connectSocket, isIPv4 } from "node:net";

/** Where a sidecar listens when nobody says otherwise. */
export const DEFAULT_ADDRESS = "127.0.0.1:50051";

const HTTPS_PORT = 443;
const HOST_AND_PORT = /^(?:\[[\w:.%]+\]|[^\s:/[\]@?#\\]+):([0-9]{1,5})$/;

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

/** A client's certificate is given, and the connection to another machine would be plain. */
class IdleCertificate extends TypeError {
  constructor(host: string) {
    super(
      `the certificate of SIDEMIRROR_CLIENT_CERTIFICATE_FILE does nothing at ${host} without TLS: write https:// before ` +
        "the address, set tls: true, or name the authority's file in SIDEMIRROR_CA_FILE",
    );
  }
}

/** The address is none that the sidecar can be reached at. */
class NoAddress extends TypeError {
  constructor(given: string) {
    super(
      `the address ${JSON.stringify(given)} of Sidemirror (SIDEMIRROR_ADDRESS, or the option address): host:port, such as ` +
        `${DEFAULT_ADDRESS}, https://host, https://host:port or unix:/path is expected`,
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

/** The way to an address. Throws TokenInTheClear, TypeError for what is no address or a certificate without
 * TLS, and when a file cannot be read. */
export function wayTo(address: string, secrets: Secrets): Way {
  if (address.startsWith("unix:")) {
    const path = address.slice("unix:".length);
    if (/^\/*$/.test(path)) throw new NoAddress(address);
    return { baseUrl: "http://localhost", options: { createConnection: () => connectSocket(path) } };
  }
  const isTls = address.startsWith("https://") || secrets.tls || secrets.caFile !== "";
  const bare = address.replace(/^https?:\/\//, "").replace(/\/+$/, "");
  const target = isTls && /^[^:]*$|\]$/.test(bare) ? `${bare}:${HTTPS_PORT}` : bare;
  const written = `${isTls ? "https" : "http"}://${target}`;
  if (!isPlace(target) || !URL.canParse(written)) throw new NoAddress(address);
  const url = new URL(written);
  if (!isTls) {
    if (secrets.tokenFile !== "" && !isLoopback(url.hostname)) throw new TokenInTheClear(url.host);
    if (secrets.certificateFile + secrets.keyFile !== "" && !isLoopback(url.hostname)) throw new IdleCertificate(url.host);
    return { baseUrl: url.origin, options: {} };
  }
  return {
    baseUrl: url.origin,
    options: {
      ...(secrets.caFile === "" ? {} : { ca: read(secrets.caFile, "caFile", "SIDEMIRROR_CA_FILE") }),
      ...(secrets.certificateFile === ""
        ? {}
        : { cert: read(secrets.certificateFile, "clientCertificateFile", "SIDEMIRROR_CLIENT_CERTIFICATE_FILE") }),
      ...(secrets.keyFile === "" ? {} : { key: read(secrets.keyFile, "clientKeyFile", "SIDEMIRROR_CLIENT_KEY_FILE") }),
    },
  };
}

/** What the file holds. Throws an error that names the option and the variable; its cause is that of Node.js. */
function read(file: string, option: string, variable: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`the file ${file} (${variable}, or the option ${option}) cannot be read: ${why}`, { cause });
  }
}

/** Whether it is host:port, with a port that there can be, and IPv6 in brackets. */
function isPlace(target: string): boolean {
  const port = Number(HOST_AND_PORT.exec(target)?.[1]);
  return port > 0 && port < 65_536;
}

/** `hostname` as a URL has it: numbers in their one form, IPv6 in brackets. */
function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || (isIPv4(hostname) && hostname.startsWith("127."));
}

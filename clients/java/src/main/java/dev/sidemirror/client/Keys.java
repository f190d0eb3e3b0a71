package dev.sidemirror.client;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.InvalidKeyException;
import java.util.Arrays;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Keys as Java reads them: PKCS#8. What openssl also writes, RFC 5915 for elliptic curves and PKCS#1 for RSA, is put into
 * that (RFC 5208): the algorithm before it, and around it.
 */
final class Keys {
  private static final Pattern OTHER =
      Pattern.compile("-----BEGIN (EC|RSA) PRIVATE KEY-----([A-Za-z0-9+/=\\s]*)-----END \\1 PRIVATE KEY-----");
  private static final int SEQUENCE = 0x30;
  private static final int OCTETS = 0x04;

  /** Of an EC key: its curve. */
  private static final int PARAMETERS = 0xA0;

  private static final byte[] VERSION = {0x02, 1, 0};

  /** 1.2.840.10045.2.1, an elliptic curve's. */
  private static final byte[] EC = {0x06, 7, 0x2A, (byte) 0x86, 0x48, (byte) 0xCE, 0x3D, 2, 1};

  /** 1.2.840.113549.1.1.1 without parameters, RSA's. */
  private static final byte[] RSA = {0x06, 9, 0x2A, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xF7, 0x0D, 1, 1, 1, 5, 0};

  private Keys() {}

  /** The key in PKCS#8; as it is where it is that already, or nothing that is known here. */
  static byte[] pkcs8(byte[] pem) throws InvalidKeyException {
    Matcher found = OTHER.matcher(new String(pem, StandardCharsets.ISO_8859_1));
    if (!found.find()) {
      return pem;
    }
    byte[] key = Base64.getMimeDecoder().decode(found.group(2));
    byte[] algorithm = found.group(1).equals("RSA") ? RSA : joined(EC, curve(key));
    byte[] whole = tagged(SEQUENCE, joined(VERSION, tagged(SEQUENCE, algorithm), tagged(OCTETS, key)));
    String text = Base64.getMimeEncoder().encodeToString(whole);
    return ("-----BEGIN PRIVATE KEY-----\n" + text + "\n-----END PRIVATE KEY-----\n").getBytes(StandardCharsets.ISO_8859_1);
  }

  /** The curve that an EC key names: behind its version and its number. */
  private static byte[] curve(byte[] key) throws InvalidKeyException {
    try {
      int at = inside(key, 0);
      while ((key[at] & 0xFF) != PARAMETERS) {
        at = inside(key, at) + length(key, at);
      }
      return Arrays.copyOfRange(key, inside(key, at), inside(key, at) + length(key, at));
    } catch (ArrayIndexOutOfBoundsException cut) {
      throw new InvalidKeyException("the key names no curve");
    }
  }

  /** Where what stands at a place begins, behind its tag and its length. */
  private static int inside(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    return at + 2 + (first < 0x80 ? 0 : first - 0x80);
  }

  private static int length(byte[] der, int at) {
    int first = der[at + 1] & 0xFF;
    if (first < 0x80) {
      return first;
    }
    int length = 0;
    for (int each = 0; each < first - 0x80; each++) {
      length = length << 8 | der[at + 2 + each] & 0xFF;
    }
    return length;
  }

  private static byte[] tagged(int tag, byte[] held) {
    byte low = (byte) held.length;
    byte[] size =
        held.length < 0x80
            ? new byte[] {low}
            : held.length < 0x100
                ? new byte[] {(byte) 0x81, low}
                : new byte[] {(byte) 0x82, (byte) (held.length >> 8), low};
    return joined(new byte[] {(byte) tag}, size, held);
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}

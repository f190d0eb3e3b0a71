package dev.sidemirror.client;

import java.nio.charset.CharacterCodingException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/** The token's file gives none that can be sent. The message names the file, and does not quote it. */
final class TokenUnusable extends Exception {
  private static final long serialVersionUID = 1L;

  TokenUnusable(Path file, Exception why) {
    super("the token's file " + file + " (SIDEMIRROR_TOKEN_FILE): " + words(why), why);
  }

  /** Those of a file that is missing are its name alone, and those of one that is not UTF-8 a number. */
  private static String words(Exception why) {
    if (why instanceof NoSuchFileException) {
      return "no such file";
    }
    return why instanceof CharacterCodingException ? "it is not UTF-8" : why.getMessage();
  }
}

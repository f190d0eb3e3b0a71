package dev.sidemirror.client;

import com.google.protobuf.Message;
import dev.sidemirror.v1.ToolCalled;
import dev.sidemirror.v1.TurnEvent;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Texts as the sidecar takes them: not too long, and without halves of surrogate pairs, which UTF-8 has none of. */
final class Texts {
  /** The longest text that the sidecar takes; of a longer one the beginning is reported. */
  static final int LONGEST_BYTES = 256 << 10;

  /** What a unit of UTF-16 takes at most. */
  private static final int UNIT_BYTES = 3;

  private static final String CUT = " … [cut]";
  private static final char INSTEAD = '\ufffd';

  private Texts() {}

  /** What models and tools say, who also say null: an empty text. */
  static String orEmpty(String given) {
    return given == null ? "" : given;
  }

  /** The name and the message of what was thrown, or of one that has none to give, its class; of null an empty text. */
  static String of(Throwable thrown) {
    try {
      return thrown == null ? "" : orEmpty(thrown.toString());
    } catch (Throwable wordless) { // its own, and not what the agent has to hear of
      return thrown.getClass().getName();
    }
  }

  /** The text with U+FFFD for each half of a surrogate pair: protobuf would log a stack trace for it. */
  static String mended(String text) {
    if (isWhole(text)) {
      return text;
    }
    StringBuilder mended = new StringBuilder(text);
    for (int at = 0; at < text.length(); at += Character.charCount(text.codePointAt(at))) {
      if (isHalf(text.codePointAt(at))) {
        mended.setCharAt(at, INSTEAD);
      }
    }
    return mended.toString();
  }

  private static boolean isWhole(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (Character.isSurrogate(text.charAt(at)) && isHalf(text.codePointAt(at++))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isHalf(int codePoint) {
    return Character.MIN_SURROGATE <= codePoint && codePoint <= Character.MAX_SURROGATE;
  }

  /** The message with of each text as much as the sidecar takes, mended: it refuses one that holds more. */
  @SuppressWarnings("unchecked") // a message's builder makes its own kind
  static <M extends Message> M fitting(M message) {
    return fits(message) ? message : (M) fitted(message);
  }

  /** The same of an event, whose usual kinds are looked at without reflection: an agent reports them on its own thread. */
  static TurnEvent fitting(TurnEvent event) {
    boolean asItIs = event.getSerializedSize() <= LONGEST_BYTES && isWhole(event.getEventId()) && isWhole(event.getAgent());
    return asItIs && goes(event) ? event : (TurnEvent) fitted(event);
  }

  private static boolean goes(TurnEvent event) {
    return switch (event.getKindCase()) {
      case TOOL_CALLED -> {
        ToolCalled called = event.getToolCalled();
        yield isWhole(called.getName()) && isWhole(called.getArguments()) && isWhole(called.getCallId());
      }
      case TOOL_RETURNED -> isWhole(event.getToolReturned().getContent()) && isWhole(event.getToolReturned().getCallId());
      default -> fits(event);
    };
  }

  /** Whether it surely goes as it is. */
  private static boolean fits(Object value) {
    if (value instanceof Message message) {
      return message.getAllFields().values().stream().allMatch(Texts::fits);
    }
    if (value instanceof List<?> list) {
      return list.stream().allMatch(Texts::fits);
    }
    return !(value instanceof String text) || (text.length() <= LONGEST_BYTES / UNIT_BYTES && isWhole(text));
  }

  private static Object fitted(Object value) {
    if (value instanceof Message message) {
      Message.Builder builder = message.toBuilder();
      message.getAllFields().forEach((field, each) -> builder.setField(field, fitted(each)));
      return builder.build();
    }
    if (value instanceof List<?> list) {
      return list.stream().map(Texts::fitted).toList();
    }
    return value instanceof String text ? cut(mended(text)) : value;
  }

  private static String cut(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    if (bytes.length <= LONGEST_BYTES) {
      return text;
    }
    int end = LONGEST_BYTES - CUT.getBytes(StandardCharsets.UTF_8).length;
    while ((bytes[end] & 0xC0) == 0x80) {
      end--; // not within a character
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8) + CUT;
  }
}

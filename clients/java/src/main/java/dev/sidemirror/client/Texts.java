package dev.sidemirror.client;

import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import java.nio.charset.StandardCharsets;

/** Texts as long as the sidecar takes them. */
final class Texts {
  /** The longest text that the sidecar takes; of a longer one the beginning is reported. */
  static final int LONGEST_BYTES = 256 << 10;

  private static final String CUT = " … [cut]";

  private Texts() {}

  /** The message with of each text as much as the sidecar takes: it refuses one that holds more. */
  @SuppressWarnings("unchecked") // a message's builder makes its own kind
  static <M extends Message> M fitting(M message) {
    if (message.getSerializedSize() <= LONGEST_BYTES) {
      return message;
    }
    Message.Builder builder = message.toBuilder();
    cut(builder);
    return (M) builder.build();
  }

  private static void cut(Message.Builder message) {
    message
        .getAllFields()
        .forEach(
            (field, value) -> {
              if (field.getJavaType() == JavaType.MESSAGE && field.isRepeated() && !field.isMapField()) {
                for (int place = 0; place < message.getRepeatedFieldCount(field); place++) {
                  Message.Builder each = ((Message) message.getRepeatedField(field, place)).toBuilder();
                  cut(each);
                  message.setRepeatedField(field, place, each.build());
                }
              } else if (field.getJavaType() == JavaType.MESSAGE && !field.isRepeated()) {
                Message.Builder inner = ((Message) value).toBuilder();
                cut(inner);
                message.setField(field, inner.build());
              } else if (value instanceof String text && text.length() > LONGEST_BYTES / 4) {
                message.setField(field, cut(text));
              }
            });
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

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import java.util.ArrayList;
import java.util.List;

/** Reads and compares protobuf's JSON, as clients/scenario/README.md says. */
final class Matching {
  private Matching() {}

  static <B extends Message.Builder> B parsed(JsonElement given, B into)
      throws InvalidProtocolBufferException {
    if (given != null) {
      JsonFormat.parser().merge(given.toString(), into);
    }
    return into;
  }

  /** Protobuf's JSON of a message. */
  static JsonElement plain(Message message) {
    try {
      return JsonParser.parseString(JsonFormat.printer().print(message));
    } catch (InvalidProtocolBufferException notRegistered) {
      throw new IllegalStateException(notRegistered);
    }
  }

  static void checkStream(JsonArray expected, List<JsonElement> answers) throws Unexpected {
    int place = 0;
    for (JsonElement each : expected) {
      while (place < answers.size() && !matches(each, answers.get(place))) {
        place++;
      }
      if (place++ >= answers.size()) {
        throw new Unexpected(each + " did not come, in that order, in " + answers);
      }
    }
  }

  static void check(JsonElement expected, JsonElement answer) throws Unexpected {
    if (expected != null && !matches(expected, answer)) {
      throw new Unexpected("expected " + expected + ", got " + answer);
    }
  }

  /** {@code actual} is null where nothing is. */
  static boolean matches(JsonElement expected, JsonElement actual) {
    boolean absent = actual == null || actual.isJsonNull();
    if (expected.isJsonNull()) {
      return absent;
    }
    if (absent) {
      return false;
    }
    if (expected.isJsonObject()) {
      return actual.isJsonObject()
          && expected.getAsJsonObject().entrySet().stream()
              .allMatch(each -> matches(each.getValue(), actual.getAsJsonObject().get(each.getKey())));
    }
    if (expected.isJsonArray()) {
      JsonArray list = expected.getAsJsonArray();
      if (!actual.isJsonArray() || actual.getAsJsonArray().size() < list.size()) {
        return false;
      }
      for (int place = 0; place < list.size(); place++) {
        if (!matches(list.get(place), actual.getAsJsonArray().get(place))) {
          return false;
        }
      }
      return true;
    }
    return "*".equals(expected.getAsString()) || expected.equals(actual);
  }

  static JsonElement at(JsonElement answer, String path) {
    JsonElement found = answer;
    for (String part : path.split("\\.")) {
      found =
          found.isJsonArray()
              ? found.getAsJsonArray().get(Integer.parseInt(part))
              : found.getAsJsonObject().get(part);
    }
    return found;
  }

  static List<String> strings(JsonElement list) {
    List<String> strings = new ArrayList<>();
    if (list != null) {
      list.getAsJsonArray().forEach(each -> strings.add(each.getAsString()));
    }
    return strings;
  }

  static String text(JsonObject given, String key) {
    return given.has(key) ? given.get(key).getAsString() : "";
  }
}

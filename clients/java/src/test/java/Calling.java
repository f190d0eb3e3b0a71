import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.Message;
import dev.sidemirror.client.Problem;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Any call of the contract, by its name. */
final class Calling {
  private Calling() {}

  /** What has come: messages as JSON, and how the call ended. */
  record Answers(List<JsonElement> answers, Status status, Metadata trailers) {}

  /** A method of the generated service, by {@code Service/Method}. */
  static MethodDescriptor<Message, Message> method(String path) throws ReflectiveOperationException {
    String[] names = path.split("/");
    ServiceDescriptor service =
        (ServiceDescriptor)
            Class.forName("dev.sidemirror.v1." + names[0] + "Grpc").getMethod("getServiceDescriptor").invoke(null);
    for (MethodDescriptor<?, ?> each : service.getMethods()) {
      if (names[1].equals(each.getBareMethodName())) {
        @SuppressWarnings("unchecked") // protobuf's messages go in and out
        MethodDescriptor<Message, Message> method = (MethodDescriptor<Message, Message>) each;
        return method;
      }
    }
    throw new IllegalArgumentException(path);
  }

  /** Makes the call of a step. */
  static Answers answers(Channel channel, JsonObject step, MethodDescriptor<Message, Message> method) throws Exception {
    CallOptions options = CallOptions.DEFAULT;
    if (step.has("deadline_ms")) {
      options = options.withDeadlineAfter(step.get("deadline_ms").getAsLong(), TimeUnit.MILLISECONDS);
    }
    int cancelAfter = step.has("cancel_after") ? step.get("cancel_after").getAsInt() : -1;
    ClientCall<Message, Message> call = channel.newCall(method, options);
    CompletableFuture<Answers> ended = new CompletableFuture<>();
    List<JsonElement> answers = Collections.synchronizedList(new ArrayList<>());
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(Message answer) {
            answers.add(Matching.plain(answer));
            if (answers.size() == cancelAfter) {
              call.cancel("enough", null);
            }
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            boolean cancelled = status.getCode() == Status.Code.CANCELLED && answers.size() >= cancelAfter;
            ended.complete(new Answers(answers, cancelAfter > 0 && cancelled ? Status.OK : status, trailers));
          }
        },
        new Metadata());
    call.request(Integer.MAX_VALUE);
    Message prototype = ((PrototypeMarshaller<Message>) method.getRequestMarshaller()).getMessagePrototype();
    JsonArray requests = step.getAsJsonArray("requests");
    if (requests == null) {
      requests = new JsonArray();
      requests.add(step.get("request"));
    }
    for (JsonElement request : requests) {
      call.sendMessage(Matching.parsed(request, prototype.newBuilderForType()).build());
    }
    call.halfClose();
    return ended.get(2, TimeUnit.MINUTES);
  }

  /** Throws unless a call failed as its step says. */
  static void checkError(JsonObject step, Answers came) throws Unexpected {
    if (!step.has("error")) {
      throw new Unexpected(came.status().toString());
    }
    JsonObject expected = step.getAsJsonObject("error");
    if (came.status().isOk()) {
      throw new Unexpected("an answer instead of " + expected + ": " + came.answers());
    }
    Problem problem = Problem.of(came.status().asRuntimeException(came.trailers()));
    boolean same =
        came.status().getCode().name().equals(Matching.text(expected, "code"))
            && (!expected.has("reason") || problem.reason().equals(Matching.text(expected, "reason")))
            && problem.fields().keySet().containsAll(Matching.strings(expected.get("fields")));
    if (!same) {
      throw new Unexpected(came.status() + " (" + problem + ") instead of " + expected);
    }
  }
}

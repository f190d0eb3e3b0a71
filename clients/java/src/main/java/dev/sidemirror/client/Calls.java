package dev.sidemirror.client;

import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import dev.sidemirror.v1.CritiqueServiceGrpc;
import dev.sidemirror.v1.GoalReflectionServiceGrpc;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc;
import dev.sidemirror.v1.RunTurnRequest;
import dev.sidemirror.v1.SidecarServiceGrpc;
import dev.sidemirror.v1.ThinkingServiceGrpc;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** What every call carries: a deadline, the token, the scope, and for writes a request_id. */
final class Calls implements ClientInterceptor {
  /** A local call takes a millisecond; an agent that waits this long has lost its sidecar. */
  static final Duration DEFAULT_DEADLINE = Duration.ofSeconds(10);

  /** For calls that ask a language model, which the sidecar gives up to 30 seconds an attempt. */
  private static final Duration MODEL_DEADLINE = Duration.ofSeconds(60);

  /** For streams that do one piece of work and end. */
  private static final Duration WORK_DEADLINE = Duration.ofMinutes(5);

  private static final Set<String> MODEL_CALLS = Set.of("Reflect", "Critique", "EvaluateTrace", "GenerateReflection");

  /** Streams that go on for as long as there is something to say. */
  private static final Set<String> ENDLESS = Set.of("RunTurn", "WatchTurns", "WatchGoalReflections", "Watch");

  /** Those whose unary methods are tried again. */
  private static final List<ServiceDescriptor> SERVICES =
      List.of(
          ThinkingServiceGrpc.getServiceDescriptor(),
          CritiqueServiceGrpc.getServiceDescriptor(),
          GoalReflectionServiceGrpc.getServiceDescriptor(),
          ReflectiveMemoryServiceGrpc.getServiceDescriptor(),
          SidecarServiceGrpc.getServiceDescriptor());

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Duration deadline;
  private final CallCredentials token;
  private final Map<String, String> scope;

  /** {@code tokenFile} may be null. */
  Calls(Duration deadline, Path tokenFile, String tenantId, String projectId) {
    this.deadline = deadline;
    this.token = tokenFile == null ? null : new Token(tokenFile);
    this.scope = Map.of("tenant_id", tenantId, "project_id", projectId);
  }

  /** Retries for the unary methods: all of them are reads, or writes that a request_id makes safe to repeat. */
  static Map<String, ?> serviceConfig() {
    List<Map<String, String>> names =
        SERVICES.stream()
            .flatMap(service -> service.getMethods().stream())
            .filter(method -> method.getType() == MethodType.UNARY)
            .map(method -> Map.of("service", method.getServiceName(), "method", method.getBareMethodName()))
            .toList();
    Map<String, Object> policy =
        Map.of(
            "maxAttempts", 4.0,
            "initialBackoff", "0.1s",
            "maxBackoff", "1s",
            "backoffMultiplier", 2.0,
            "retryableStatusCodes", List.of("UNAVAILABLE"));
    return Map.of("methodConfig", List.of(Map.of("name", names, "retryPolicy", policy)));
  }

  @Override
  public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions given, Channel next) {
    CallOptions options = given;
    Duration within = within(method);
    if (options.getDeadline() == null && within != null) {
      options = options.withDeadlineAfter(Waiting.nanos(within), TimeUnit.NANOSECONDS);
    }
    if (options.getCredentials() == null && token != null) {
      options = options.withCallCredentials(token);
    }
    return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
      @Override
      public void sendMessage(Q request) {
        super.sendMessage(filled(request));
      }
    };
  }

  private Duration within(MethodDescriptor<?, ?> method) {
    String name = method.getBareMethodName();
    if (ENDLESS.contains(name)) {
      return null;
    }
    if (method.getType() != MethodType.UNARY) {
      return WORK_DEADLINE;
    }
    return MODEL_CALLS.contains(name) && deadline.compareTo(MODEL_DEADLINE) < 0 ? MODEL_DEADLINE : deadline;
  }

  /** The request with the client's scope and a request_id where it has none. */
  private <Q> Q filled(Q given) {
    if (!(given instanceof Message request)) {
      return given;
    }
    Message.Builder builder = request.toBuilder();
    scope.forEach((name, value) -> fill(builder, name, value));
    if (!(request instanceof RunTurnRequest)) {
      fill(builder, "request_id", newId());
    }
    @SuppressWarnings("unchecked") // a message's builder builds messages of its type
    Q filled = (Q) builder.build();
    return filled;
  }

  private static void fill(Message.Builder builder, String name, String value) {
    FieldDescriptor field = builder.getDescriptorForType().findFieldByName(name);
    if (field != null && !value.isEmpty() && "".equals(builder.getField(field))) {
      builder.setField(field, value);
    }
  }

  static String newId() {
    return UUID.randomUUID().toString();
  }

  /** Reads the token for every call: whoever issues tokens replaces the file. */
  private static final class Token extends CallCredentials {
    private final Path file;

    Token(Path file) {
      this.file = file;
    }

    @Override
    public void applyRequestMetadata(RequestInfo call, Executor executor, MetadataApplier applier) {
      executor.execute(
          () -> {
            Metadata headers = new Metadata();
            try {
              headers.put(AUTHORIZATION, "Bearer " + read());
            } catch (IOException | RuntimeException unusable) {
              TokenUnusable why = new TokenUnusable(file, unusable);
              applier.fail(Status.UNAUTHENTICATED.withDescription(why.getMessage()).withCause(why));
              return;
            }
            applier.apply(headers);
          });
    }

    private String read() throws IOException {
      String token = Files.readString(file).strip();
      if (!token.chars().allMatch(one -> ' ' <= one && one <= '~')) {
        // gRPC would log the header, and so the token, for anything else.
        throw new IOException("it holds what cannot be sent: a token is one line of printable ASCII");
      }
      return token;
    }
  }
}

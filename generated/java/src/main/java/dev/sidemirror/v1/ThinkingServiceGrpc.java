package dev.sidemirror.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * How deep an agent thinks in a turn, and when it stops to reflect.
 * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
 * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
 * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ThinkingServiceGrpc {

  private ThinkingServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidemirror.v1.ThinkingService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.CreateSessionRequest,
      dev.sidemirror.v1.CreateSessionResponse> getCreateSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "CreateSession",
      requestType = dev.sidemirror.v1.CreateSessionRequest.class,
      responseType = dev.sidemirror.v1.CreateSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.CreateSessionRequest,
      dev.sidemirror.v1.CreateSessionResponse> getCreateSessionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.CreateSessionRequest, dev.sidemirror.v1.CreateSessionResponse> getCreateSessionMethod;
    if ((getCreateSessionMethod = ThinkingServiceGrpc.getCreateSessionMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getCreateSessionMethod = ThinkingServiceGrpc.getCreateSessionMethod) == null) {
          ThinkingServiceGrpc.getCreateSessionMethod = getCreateSessionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.CreateSessionRequest, dev.sidemirror.v1.CreateSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "CreateSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.CreateSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.CreateSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("CreateSession"))
              .build();
        }
      }
    }
    return getCreateSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetSessionRequest,
      dev.sidemirror.v1.GetSessionResponse> getGetSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetSession",
      requestType = dev.sidemirror.v1.GetSessionRequest.class,
      responseType = dev.sidemirror.v1.GetSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetSessionRequest,
      dev.sidemirror.v1.GetSessionResponse> getGetSessionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetSessionRequest, dev.sidemirror.v1.GetSessionResponse> getGetSessionMethod;
    if ((getGetSessionMethod = ThinkingServiceGrpc.getGetSessionMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getGetSessionMethod = ThinkingServiceGrpc.getGetSessionMethod) == null) {
          ThinkingServiceGrpc.getGetSessionMethod = getGetSessionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetSessionRequest, dev.sidemirror.v1.GetSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetSession"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("GetSession"))
              .build();
        }
      }
    }
    return getGetSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateSessionRequest,
      dev.sidemirror.v1.UpdateSessionResponse> getUpdateSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateSession",
      requestType = dev.sidemirror.v1.UpdateSessionRequest.class,
      responseType = dev.sidemirror.v1.UpdateSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateSessionRequest,
      dev.sidemirror.v1.UpdateSessionResponse> getUpdateSessionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.UpdateSessionRequest, dev.sidemirror.v1.UpdateSessionResponse> getUpdateSessionMethod;
    if ((getUpdateSessionMethod = ThinkingServiceGrpc.getUpdateSessionMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getUpdateSessionMethod = ThinkingServiceGrpc.getUpdateSessionMethod) == null) {
          ThinkingServiceGrpc.getUpdateSessionMethod = getUpdateSessionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.UpdateSessionRequest, dev.sidemirror.v1.UpdateSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.UpdateSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.UpdateSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("UpdateSession"))
              .build();
        }
      }
    }
    return getUpdateSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListSessionsRequest,
      dev.sidemirror.v1.ListSessionsResponse> getListSessionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListSessions",
      requestType = dev.sidemirror.v1.ListSessionsRequest.class,
      responseType = dev.sidemirror.v1.ListSessionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListSessionsRequest,
      dev.sidemirror.v1.ListSessionsResponse> getListSessionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListSessionsRequest, dev.sidemirror.v1.ListSessionsResponse> getListSessionsMethod;
    if ((getListSessionsMethod = ThinkingServiceGrpc.getListSessionsMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getListSessionsMethod = ThinkingServiceGrpc.getListSessionsMethod) == null) {
          ThinkingServiceGrpc.getListSessionsMethod = getListSessionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListSessionsRequest, dev.sidemirror.v1.ListSessionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListSessions"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListSessionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListSessionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("ListSessions"))
              .build();
        }
      }
    }
    return getListSessionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteSessionRequest,
      dev.sidemirror.v1.DeleteSessionResponse> getDeleteSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteSession",
      requestType = dev.sidemirror.v1.DeleteSessionRequest.class,
      responseType = dev.sidemirror.v1.DeleteSessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteSessionRequest,
      dev.sidemirror.v1.DeleteSessionResponse> getDeleteSessionMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteSessionRequest, dev.sidemirror.v1.DeleteSessionResponse> getDeleteSessionMethod;
    if ((getDeleteSessionMethod = ThinkingServiceGrpc.getDeleteSessionMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getDeleteSessionMethod = ThinkingServiceGrpc.getDeleteSessionMethod) == null) {
          ThinkingServiceGrpc.getDeleteSessionMethod = getDeleteSessionMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.DeleteSessionRequest, dev.sidemirror.v1.DeleteSessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteSession"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteSessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteSessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("DeleteSession"))
              .build();
        }
      }
    }
    return getDeleteSessionMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetThinkingPromptRequest,
      dev.sidemirror.v1.GetThinkingPromptResponse> getGetThinkingPromptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetThinkingPrompt",
      requestType = dev.sidemirror.v1.GetThinkingPromptRequest.class,
      responseType = dev.sidemirror.v1.GetThinkingPromptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetThinkingPromptRequest,
      dev.sidemirror.v1.GetThinkingPromptResponse> getGetThinkingPromptMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetThinkingPromptRequest, dev.sidemirror.v1.GetThinkingPromptResponse> getGetThinkingPromptMethod;
    if ((getGetThinkingPromptMethod = ThinkingServiceGrpc.getGetThinkingPromptMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getGetThinkingPromptMethod = ThinkingServiceGrpc.getGetThinkingPromptMethod) == null) {
          ThinkingServiceGrpc.getGetThinkingPromptMethod = getGetThinkingPromptMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetThinkingPromptRequest, dev.sidemirror.v1.GetThinkingPromptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetThinkingPrompt"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetThinkingPromptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetThinkingPromptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("GetThinkingPrompt"))
              .build();
        }
      }
    }
    return getGetThinkingPromptMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.RunTurnRequest,
      dev.sidemirror.v1.RunTurnResponse> getRunTurnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RunTurn",
      requestType = dev.sidemirror.v1.RunTurnRequest.class,
      responseType = dev.sidemirror.v1.RunTurnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.RunTurnRequest,
      dev.sidemirror.v1.RunTurnResponse> getRunTurnMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.RunTurnRequest, dev.sidemirror.v1.RunTurnResponse> getRunTurnMethod;
    if ((getRunTurnMethod = ThinkingServiceGrpc.getRunTurnMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getRunTurnMethod = ThinkingServiceGrpc.getRunTurnMethod) == null) {
          ThinkingServiceGrpc.getRunTurnMethod = getRunTurnMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.RunTurnRequest, dev.sidemirror.v1.RunTurnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RunTurn"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.RunTurnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.RunTurnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("RunTurn"))
              .build();
        }
      }
    }
    return getRunTurnMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.StartTurnRequest,
      dev.sidemirror.v1.StartTurnResponse> getStartTurnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "StartTurn",
      requestType = dev.sidemirror.v1.StartTurnRequest.class,
      responseType = dev.sidemirror.v1.StartTurnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.StartTurnRequest,
      dev.sidemirror.v1.StartTurnResponse> getStartTurnMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.StartTurnRequest, dev.sidemirror.v1.StartTurnResponse> getStartTurnMethod;
    if ((getStartTurnMethod = ThinkingServiceGrpc.getStartTurnMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getStartTurnMethod = ThinkingServiceGrpc.getStartTurnMethod) == null) {
          ThinkingServiceGrpc.getStartTurnMethod = getStartTurnMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.StartTurnRequest, dev.sidemirror.v1.StartTurnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "StartTurn"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.StartTurnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.StartTurnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("StartTurn"))
              .build();
        }
      }
    }
    return getStartTurnMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportEventsRequest,
      dev.sidemirror.v1.ReportEventsResponse> getReportEventsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportEvents",
      requestType = dev.sidemirror.v1.ReportEventsRequest.class,
      responseType = dev.sidemirror.v1.ReportEventsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportEventsRequest,
      dev.sidemirror.v1.ReportEventsResponse> getReportEventsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportEventsRequest, dev.sidemirror.v1.ReportEventsResponse> getReportEventsMethod;
    if ((getReportEventsMethod = ThinkingServiceGrpc.getReportEventsMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getReportEventsMethod = ThinkingServiceGrpc.getReportEventsMethod) == null) {
          ThinkingServiceGrpc.getReportEventsMethod = getReportEventsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReportEventsRequest, dev.sidemirror.v1.ReportEventsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportEvents"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportEventsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportEventsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("ReportEvents"))
              .build();
        }
      }
    }
    return getReportEventsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.FinishTurnRequest,
      dev.sidemirror.v1.FinishTurnResponse> getFinishTurnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "FinishTurn",
      requestType = dev.sidemirror.v1.FinishTurnRequest.class,
      responseType = dev.sidemirror.v1.FinishTurnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.FinishTurnRequest,
      dev.sidemirror.v1.FinishTurnResponse> getFinishTurnMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.FinishTurnRequest, dev.sidemirror.v1.FinishTurnResponse> getFinishTurnMethod;
    if ((getFinishTurnMethod = ThinkingServiceGrpc.getFinishTurnMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getFinishTurnMethod = ThinkingServiceGrpc.getFinishTurnMethod) == null) {
          ThinkingServiceGrpc.getFinishTurnMethod = getFinishTurnMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.FinishTurnRequest, dev.sidemirror.v1.FinishTurnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "FinishTurn"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.FinishTurnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.FinishTurnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("FinishTurn"))
              .build();
        }
      }
    }
    return getFinishTurnMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetTurnRequest,
      dev.sidemirror.v1.GetTurnResponse> getGetTurnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetTurn",
      requestType = dev.sidemirror.v1.GetTurnRequest.class,
      responseType = dev.sidemirror.v1.GetTurnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetTurnRequest,
      dev.sidemirror.v1.GetTurnResponse> getGetTurnMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetTurnRequest, dev.sidemirror.v1.GetTurnResponse> getGetTurnMethod;
    if ((getGetTurnMethod = ThinkingServiceGrpc.getGetTurnMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getGetTurnMethod = ThinkingServiceGrpc.getGetTurnMethod) == null) {
          ThinkingServiceGrpc.getGetTurnMethod = getGetTurnMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetTurnRequest, dev.sidemirror.v1.GetTurnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetTurn"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetTurnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetTurnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("GetTurn"))
              .build();
        }
      }
    }
    return getGetTurnMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchTurnsRequest,
      dev.sidemirror.v1.WatchTurnsResponse> getWatchTurnsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchTurns",
      requestType = dev.sidemirror.v1.WatchTurnsRequest.class,
      responseType = dev.sidemirror.v1.WatchTurnsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchTurnsRequest,
      dev.sidemirror.v1.WatchTurnsResponse> getWatchTurnsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchTurnsRequest, dev.sidemirror.v1.WatchTurnsResponse> getWatchTurnsMethod;
    if ((getWatchTurnsMethod = ThinkingServiceGrpc.getWatchTurnsMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getWatchTurnsMethod = ThinkingServiceGrpc.getWatchTurnsMethod) == null) {
          ThinkingServiceGrpc.getWatchTurnsMethod = getWatchTurnsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.WatchTurnsRequest, dev.sidemirror.v1.WatchTurnsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchTurns"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.WatchTurnsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.WatchTurnsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("WatchTurns"))
              .build();
        }
      }
    }
    return getWatchTurnsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListTurnsRequest,
      dev.sidemirror.v1.ListTurnsResponse> getListTurnsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListTurns",
      requestType = dev.sidemirror.v1.ListTurnsRequest.class,
      responseType = dev.sidemirror.v1.ListTurnsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListTurnsRequest,
      dev.sidemirror.v1.ListTurnsResponse> getListTurnsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListTurnsRequest, dev.sidemirror.v1.ListTurnsResponse> getListTurnsMethod;
    if ((getListTurnsMethod = ThinkingServiceGrpc.getListTurnsMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getListTurnsMethod = ThinkingServiceGrpc.getListTurnsMethod) == null) {
          ThinkingServiceGrpc.getListTurnsMethod = getListTurnsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListTurnsRequest, dev.sidemirror.v1.ListTurnsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListTurns"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListTurnsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListTurnsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("ListTurns"))
              .build();
        }
      }
    }
    return getListTurnsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldReflectRequest,
      dev.sidemirror.v1.ShouldReflectResponse> getShouldReflectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ShouldReflect",
      requestType = dev.sidemirror.v1.ShouldReflectRequest.class,
      responseType = dev.sidemirror.v1.ShouldReflectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldReflectRequest,
      dev.sidemirror.v1.ShouldReflectResponse> getShouldReflectMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldReflectRequest, dev.sidemirror.v1.ShouldReflectResponse> getShouldReflectMethod;
    if ((getShouldReflectMethod = ThinkingServiceGrpc.getShouldReflectMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getShouldReflectMethod = ThinkingServiceGrpc.getShouldReflectMethod) == null) {
          ThinkingServiceGrpc.getShouldReflectMethod = getShouldReflectMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ShouldReflectRequest, dev.sidemirror.v1.ShouldReflectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ShouldReflect"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ShouldReflectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ShouldReflectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("ShouldReflect"))
              .build();
        }
      }
    }
    return getShouldReflectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReflectRequest,
      dev.sidemirror.v1.ReflectResponse> getReflectMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Reflect",
      requestType = dev.sidemirror.v1.ReflectRequest.class,
      responseType = dev.sidemirror.v1.ReflectResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReflectRequest,
      dev.sidemirror.v1.ReflectResponse> getReflectMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReflectRequest, dev.sidemirror.v1.ReflectResponse> getReflectMethod;
    if ((getReflectMethod = ThinkingServiceGrpc.getReflectMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getReflectMethod = ThinkingServiceGrpc.getReflectMethod) == null) {
          ThinkingServiceGrpc.getReflectMethod = getReflectMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReflectRequest, dev.sidemirror.v1.ReflectResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Reflect"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReflectRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReflectResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("Reflect"))
              .build();
        }
      }
    }
    return getReflectMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionPromptRequest,
      dev.sidemirror.v1.GetReflectionPromptResponse> getGetReflectionPromptMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetReflectionPrompt",
      requestType = dev.sidemirror.v1.GetReflectionPromptRequest.class,
      responseType = dev.sidemirror.v1.GetReflectionPromptResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionPromptRequest,
      dev.sidemirror.v1.GetReflectionPromptResponse> getGetReflectionPromptMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetReflectionPromptRequest, dev.sidemirror.v1.GetReflectionPromptResponse> getGetReflectionPromptMethod;
    if ((getGetReflectionPromptMethod = ThinkingServiceGrpc.getGetReflectionPromptMethod) == null) {
      synchronized (ThinkingServiceGrpc.class) {
        if ((getGetReflectionPromptMethod = ThinkingServiceGrpc.getGetReflectionPromptMethod) == null) {
          ThinkingServiceGrpc.getGetReflectionPromptMethod = getGetReflectionPromptMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetReflectionPromptRequest, dev.sidemirror.v1.GetReflectionPromptResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetReflectionPrompt"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetReflectionPromptRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetReflectionPromptResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ThinkingServiceMethodDescriptorSupplier("GetReflectionPrompt"))
              .build();
        }
      }
    }
    return getGetReflectionPromptMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ThinkingServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceStub>() {
        @java.lang.Override
        public ThinkingServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThinkingServiceStub(channel, callOptions);
        }
      };
    return ThinkingServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ThinkingServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceBlockingV2Stub>() {
        @java.lang.Override
        public ThinkingServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThinkingServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ThinkingServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ThinkingServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceBlockingStub>() {
        @java.lang.Override
        public ThinkingServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThinkingServiceBlockingStub(channel, callOptions);
        }
      };
    return ThinkingServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ThinkingServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ThinkingServiceFutureStub>() {
        @java.lang.Override
        public ThinkingServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ThinkingServiceFutureStub(channel, callOptions);
        }
      };
    return ThinkingServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Makes a session with a thinking configuration.
     * </pre>
     */
    default void createSession(dev.sidemirror.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCreateSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * A session: its configuration, how many turns it had, its last reflection.
     * </pre>
     */
    default void getSession(dev.sidemirror.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * Changes a session's configuration. Turns that are open keep theirs.
     * </pre>
     */
    default void updateSession(dev.sidemirror.v1.UpdateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * All sessions, the newest first.
     * </pre>
     */
    default void listSessions(dev.sidemirror.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListSessionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes a session with its turns and all that is recorded of them. Refused while a turn is open.
     * </pre>
     */
    default void deleteSession(dev.sidemirror.v1.DeleteSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteSessionResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteSessionMethod(), responseObserver);
    }

    /**
     * <pre>
     * The prompt, token budget and provider parameters for a thinking level. Keeps nothing.
     * </pre>
     */
    default void getThinkingPrompt(dev.sidemirror.v1.GetThinkingPromptRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetThinkingPromptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetThinkingPromptMethod(), responseObserver);
    }

    /**
     * <pre>
     * A whole turn on one stream: events go in, directives come out. The first request starts the turn (its first event
     * is `turn_started`) or takes up an open one (`resume`). The server answers each start with a plan, acknowledges
     * what it has received and what is durable, and sends directives as they arise; it never waits for a model before it
     * acknowledges. Closing the sending side leaves the turn open; a `turn_finished` event ends it, and the stream with
     * a summary.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<dev.sidemirror.v1.RunTurnRequest> runTurn(
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.RunTurnResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getRunTurnMethod(), responseObserver);
    }

    /**
     * <pre>
     * Starts a turn without a stream, in a session that is created when it does not exist.
     * </pre>
     */
    default void startTurn(dev.sidemirror.v1.StartTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.StartTurnResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getStartTurnMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reports what happened in a turn. Answers when the events are durable.
     * </pre>
     */
    default void reportEvents(dev.sidemirror.v1.ReportEventsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportEventsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportEventsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a turn.
     * </pre>
     */
    default void finishTurn(dev.sidemirror.v1.FinishTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.FinishTurnResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getFinishTurnMethod(), responseObserver);
    }

    /**
     * <pre>
     * A turn's state, and its recorded entries from a sequence number on.
     * </pre>
     */
    default void getTurn(dev.sidemirror.v1.GetTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetTurnResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetTurnMethod(), responseObserver);
    }

    /**
     * <pre>
     * Events and directives as they are recorded, of one session or of all. What is durable is shown, in its order, once;
     * a watch that is taken up with the last cursor goes on where it ended.
     * </pre>
     */
    default void watchTurns(dev.sidemirror.v1.WatchTurnsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchTurnsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchTurnsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Turns, the newest first.
     * </pre>
     */
    default void listTurns(dev.sidemirror.v1.ListTurnsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListTurnsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListTurnsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Whether it is time to reflect, and every reason for it. Changes nothing.
     * </pre>
     */
    default void shouldReflect(dev.sidemirror.v1.ShouldReflectRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldReflectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getShouldReflectMethod(), responseObserver);
    }

    /**
     * <pre>
     * One reflection on a turn, now, whatever the schedule says. Takes a slot of the turn's budget.
     * </pre>
     */
    default void reflect(dev.sidemirror.v1.ReflectRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReflectResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReflectMethod(), responseObserver);
    }

    /**
     * <pre>
     * The texts of a reflection, for an agent that asks its own model and reports the answer as `reflection_recorded`.
     * </pre>
     */
    default void getReflectionPrompt(dev.sidemirror.v1.GetReflectionPromptRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionPromptResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetReflectionPromptMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ThinkingService.
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public static abstract class ThinkingServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ThinkingServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ThinkingService.
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public static final class ThinkingServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ThinkingServiceStub> {
    private ThinkingServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThinkingServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThinkingServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session with a thinking configuration.
     * </pre>
     */
    public void createSession(dev.sidemirror.v1.CreateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.CreateSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A session: its configuration, how many turns it had, its last reflection.
     * </pre>
     */
    public void getSession(dev.sidemirror.v1.GetSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Changes a session's configuration. Turns that are open keep theirs.
     * </pre>
     */
    public void updateSession(dev.sidemirror.v1.UpdateSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * All sessions, the newest first.
     * </pre>
     */
    public void listSessions(dev.sidemirror.v1.ListSessionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListSessionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes a session with its turns and all that is recorded of them. Refused while a turn is open.
     * </pre>
     */
    public void deleteSession(dev.sidemirror.v1.DeleteSessionRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteSessionResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteSessionMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The prompt, token budget and provider parameters for a thinking level. Keeps nothing.
     * </pre>
     */
    public void getThinkingPrompt(dev.sidemirror.v1.GetThinkingPromptRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetThinkingPromptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetThinkingPromptMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A whole turn on one stream: events go in, directives come out. The first request starts the turn (its first event
     * is `turn_started`) or takes up an open one (`resume`). The server answers each start with a plan, acknowledges
     * what it has received and what is durable, and sends directives as they arise; it never waits for a model before it
     * acknowledges. Closing the sending side leaves the turn open; a `turn_finished` event ends it, and the stream with
     * a summary.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<dev.sidemirror.v1.RunTurnRequest> runTurn(
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.RunTurnResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getRunTurnMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Starts a turn without a stream, in a session that is created when it does not exist.
     * </pre>
     */
    public void startTurn(dev.sidemirror.v1.StartTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.StartTurnResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getStartTurnMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reports what happened in a turn. Answers when the events are durable.
     * </pre>
     */
    public void reportEvents(dev.sidemirror.v1.ReportEventsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportEventsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportEventsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a turn.
     * </pre>
     */
    public void finishTurn(dev.sidemirror.v1.FinishTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.FinishTurnResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getFinishTurnMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * A turn's state, and its recorded entries from a sequence number on.
     * </pre>
     */
    public void getTurn(dev.sidemirror.v1.GetTurnRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetTurnResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetTurnMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Events and directives as they are recorded, of one session or of all. What is durable is shown, in its order, once;
     * a watch that is taken up with the last cursor goes on where it ended.
     * </pre>
     */
    public void watchTurns(dev.sidemirror.v1.WatchTurnsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchTurnsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchTurnsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Turns, the newest first.
     * </pre>
     */
    public void listTurns(dev.sidemirror.v1.ListTurnsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListTurnsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListTurnsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Whether it is time to reflect, and every reason for it. Changes nothing.
     * </pre>
     */
    public void shouldReflect(dev.sidemirror.v1.ShouldReflectRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldReflectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getShouldReflectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * One reflection on a turn, now, whatever the schedule says. Takes a slot of the turn's budget.
     * </pre>
     */
    public void reflect(dev.sidemirror.v1.ReflectRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReflectResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReflectMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The texts of a reflection, for an agent that asks its own model and reports the answer as `reflection_recorded`.
     * </pre>
     */
    public void getReflectionPrompt(dev.sidemirror.v1.GetReflectionPromptRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionPromptResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetReflectionPromptMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ThinkingService.
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public static final class ThinkingServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ThinkingServiceBlockingV2Stub> {
    private ThinkingServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThinkingServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThinkingServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session with a thinking configuration.
     * </pre>
     */
    public dev.sidemirror.v1.CreateSessionResponse createSession(dev.sidemirror.v1.CreateSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A session: its configuration, how many turns it had, its last reflection.
     * </pre>
     */
    public dev.sidemirror.v1.GetSessionResponse getSession(dev.sidemirror.v1.GetSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes a session's configuration. Turns that are open keep theirs.
     * </pre>
     */
    public dev.sidemirror.v1.UpdateSessionResponse updateSession(dev.sidemirror.v1.UpdateSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All sessions, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListSessionsResponse listSessions(dev.sidemirror.v1.ListSessionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a session with its turns and all that is recorded of them. Refused while a turn is open.
     * </pre>
     */
    public dev.sidemirror.v1.DeleteSessionResponse deleteSession(dev.sidemirror.v1.DeleteSessionRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The prompt, token budget and provider parameters for a thinking level. Keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.GetThinkingPromptResponse getThinkingPrompt(dev.sidemirror.v1.GetThinkingPromptRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetThinkingPromptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A whole turn on one stream: events go in, directives come out. The first request starts the turn (its first event
     * is `turn_started`) or takes up an open one (`resume`). The server answers each start with a plan, acknowledges
     * what it has received and what is durable, and sends directives as they arise; it never waits for a model before it
     * acknowledges. Closing the sending side leaves the turn open; a `turn_finished` event ends it, and the stream with
     * a summary.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<dev.sidemirror.v1.RunTurnRequest, dev.sidemirror.v1.RunTurnResponse>
        runTurn() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getRunTurnMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Starts a turn without a stream, in a session that is created when it does not exist.
     * </pre>
     */
    public dev.sidemirror.v1.StartTurnResponse startTurn(dev.sidemirror.v1.StartTurnRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getStartTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reports what happened in a turn. Answers when the events are durable.
     * </pre>
     */
    public dev.sidemirror.v1.ReportEventsResponse reportEvents(dev.sidemirror.v1.ReportEventsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a turn.
     * </pre>
     */
    public dev.sidemirror.v1.FinishTurnResponse finishTurn(dev.sidemirror.v1.FinishTurnRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getFinishTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A turn's state, and its recorded entries from a sequence number on.
     * </pre>
     */
    public dev.sidemirror.v1.GetTurnResponse getTurn(dev.sidemirror.v1.GetTurnRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Events and directives as they are recorded, of one session or of all. What is durable is shown, in its order, once;
     * a watch that is taken up with the last cursor goes on where it ended.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.WatchTurnsResponse>
        watchTurns(dev.sidemirror.v1.WatchTurnsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Turns, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListTurnsResponse listTurns(dev.sidemirror.v1.ListTurnsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Whether it is time to reflect, and every reason for it. Changes nothing.
     * </pre>
     */
    public dev.sidemirror.v1.ShouldReflectResponse shouldReflect(dev.sidemirror.v1.ShouldReflectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getShouldReflectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One reflection on a turn, now, whatever the schedule says. Takes a slot of the turn's budget.
     * </pre>
     */
    public dev.sidemirror.v1.ReflectResponse reflect(dev.sidemirror.v1.ReflectRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReflectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The texts of a reflection, for an agent that asks its own model and reports the answer as `reflection_recorded`.
     * </pre>
     */
    public dev.sidemirror.v1.GetReflectionPromptResponse getReflectionPrompt(dev.sidemirror.v1.GetReflectionPromptRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetReflectionPromptMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ThinkingService.
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public static final class ThinkingServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ThinkingServiceBlockingStub> {
    private ThinkingServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThinkingServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThinkingServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session with a thinking configuration.
     * </pre>
     */
    public dev.sidemirror.v1.CreateSessionResponse createSession(dev.sidemirror.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCreateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A session: its configuration, how many turns it had, its last reflection.
     * </pre>
     */
    public dev.sidemirror.v1.GetSessionResponse getSession(dev.sidemirror.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Changes a session's configuration. Turns that are open keep theirs.
     * </pre>
     */
    public dev.sidemirror.v1.UpdateSessionResponse updateSession(dev.sidemirror.v1.UpdateSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * All sessions, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListSessionsResponse listSessions(dev.sidemirror.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListSessionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes a session with its turns and all that is recorded of them. Refused while a turn is open.
     * </pre>
     */
    public dev.sidemirror.v1.DeleteSessionResponse deleteSession(dev.sidemirror.v1.DeleteSessionRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteSessionMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The prompt, token budget and provider parameters for a thinking level. Keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.GetThinkingPromptResponse getThinkingPrompt(dev.sidemirror.v1.GetThinkingPromptRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetThinkingPromptMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Starts a turn without a stream, in a session that is created when it does not exist.
     * </pre>
     */
    public dev.sidemirror.v1.StartTurnResponse startTurn(dev.sidemirror.v1.StartTurnRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getStartTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reports what happened in a turn. Answers when the events are durable.
     * </pre>
     */
    public dev.sidemirror.v1.ReportEventsResponse reportEvents(dev.sidemirror.v1.ReportEventsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportEventsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a turn.
     * </pre>
     */
    public dev.sidemirror.v1.FinishTurnResponse finishTurn(dev.sidemirror.v1.FinishTurnRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getFinishTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * A turn's state, and its recorded entries from a sequence number on.
     * </pre>
     */
    public dev.sidemirror.v1.GetTurnResponse getTurn(dev.sidemirror.v1.GetTurnRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetTurnMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Events and directives as they are recorded, of one session or of all. What is durable is shown, in its order, once;
     * a watch that is taken up with the last cursor goes on where it ended.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.WatchTurnsResponse> watchTurns(
        dev.sidemirror.v1.WatchTurnsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Turns, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListTurnsResponse listTurns(dev.sidemirror.v1.ListTurnsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListTurnsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Whether it is time to reflect, and every reason for it. Changes nothing.
     * </pre>
     */
    public dev.sidemirror.v1.ShouldReflectResponse shouldReflect(dev.sidemirror.v1.ShouldReflectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getShouldReflectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * One reflection on a turn, now, whatever the schedule says. Takes a slot of the turn's budget.
     * </pre>
     */
    public dev.sidemirror.v1.ReflectResponse reflect(dev.sidemirror.v1.ReflectRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReflectMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The texts of a reflection, for an agent that asks its own model and reports the answer as `reflection_recorded`.
     * </pre>
     */
    public dev.sidemirror.v1.GetReflectionPromptResponse getReflectionPrompt(dev.sidemirror.v1.GetReflectionPromptRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetReflectionPromptMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ThinkingService.
   * <pre>
   * How deep an agent thinks in a turn, and when it stops to reflect.
   * A session is a conversation or a run of an agent; a turn is one answer of the agent with all its tool calls. An agent
   * runs a turn on one stream (RunTurn) or with single calls (StartTurn, ReportEvents, FinishTurn); both make the same
   * record. Reflections are directives for the agent: they never stop a turn and never enter its messages by themselves.
   * </pre>
   */
  public static final class ThinkingServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ThinkingServiceFutureStub> {
    private ThinkingServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ThinkingServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ThinkingServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Makes a session with a thinking configuration.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.CreateSessionResponse> createSession(
        dev.sidemirror.v1.CreateSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCreateSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A session: its configuration, how many turns it had, its last reflection.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetSessionResponse> getSession(
        dev.sidemirror.v1.GetSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Changes a session's configuration. Turns that are open keep theirs.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.UpdateSessionResponse> updateSession(
        dev.sidemirror.v1.UpdateSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * All sessions, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListSessionsResponse> listSessions(
        dev.sidemirror.v1.ListSessionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListSessionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes a session with its turns and all that is recorded of them. Refused while a turn is open.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.DeleteSessionResponse> deleteSession(
        dev.sidemirror.v1.DeleteSessionRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteSessionMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The prompt, token budget and provider parameters for a thinking level. Keeps nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetThinkingPromptResponse> getThinkingPrompt(
        dev.sidemirror.v1.GetThinkingPromptRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetThinkingPromptMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Starts a turn without a stream, in a session that is created when it does not exist.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.StartTurnResponse> startTurn(
        dev.sidemirror.v1.StartTurnRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getStartTurnMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reports what happened in a turn. Answers when the events are durable.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReportEventsResponse> reportEvents(
        dev.sidemirror.v1.ReportEventsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportEventsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a turn.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.FinishTurnResponse> finishTurn(
        dev.sidemirror.v1.FinishTurnRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getFinishTurnMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * A turn's state, and its recorded entries from a sequence number on.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetTurnResponse> getTurn(
        dev.sidemirror.v1.GetTurnRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetTurnMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Turns, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListTurnsResponse> listTurns(
        dev.sidemirror.v1.ListTurnsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListTurnsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Whether it is time to reflect, and every reason for it. Changes nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ShouldReflectResponse> shouldReflect(
        dev.sidemirror.v1.ShouldReflectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getShouldReflectMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * One reflection on a turn, now, whatever the schedule says. Takes a slot of the turn's budget.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReflectResponse> reflect(
        dev.sidemirror.v1.ReflectRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReflectMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The texts of a reflection, for an agent that asks its own model and reports the answer as `reflection_recorded`.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetReflectionPromptResponse> getReflectionPrompt(
        dev.sidemirror.v1.GetReflectionPromptRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetReflectionPromptMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_CREATE_SESSION = 0;
  private static final int METHODID_GET_SESSION = 1;
  private static final int METHODID_UPDATE_SESSION = 2;
  private static final int METHODID_LIST_SESSIONS = 3;
  private static final int METHODID_DELETE_SESSION = 4;
  private static final int METHODID_GET_THINKING_PROMPT = 5;
  private static final int METHODID_START_TURN = 6;
  private static final int METHODID_REPORT_EVENTS = 7;
  private static final int METHODID_FINISH_TURN = 8;
  private static final int METHODID_GET_TURN = 9;
  private static final int METHODID_WATCH_TURNS = 10;
  private static final int METHODID_LIST_TURNS = 11;
  private static final int METHODID_SHOULD_REFLECT = 12;
  private static final int METHODID_REFLECT = 13;
  private static final int METHODID_GET_REFLECTION_PROMPT = 14;
  private static final int METHODID_RUN_TURN = 15;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_CREATE_SESSION:
          serviceImpl.createSession((dev.sidemirror.v1.CreateSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.CreateSessionResponse>) responseObserver);
          break;
        case METHODID_GET_SESSION:
          serviceImpl.getSession((dev.sidemirror.v1.GetSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetSessionResponse>) responseObserver);
          break;
        case METHODID_UPDATE_SESSION:
          serviceImpl.updateSession((dev.sidemirror.v1.UpdateSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.UpdateSessionResponse>) responseObserver);
          break;
        case METHODID_LIST_SESSIONS:
          serviceImpl.listSessions((dev.sidemirror.v1.ListSessionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListSessionsResponse>) responseObserver);
          break;
        case METHODID_DELETE_SESSION:
          serviceImpl.deleteSession((dev.sidemirror.v1.DeleteSessionRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteSessionResponse>) responseObserver);
          break;
        case METHODID_GET_THINKING_PROMPT:
          serviceImpl.getThinkingPrompt((dev.sidemirror.v1.GetThinkingPromptRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetThinkingPromptResponse>) responseObserver);
          break;
        case METHODID_START_TURN:
          serviceImpl.startTurn((dev.sidemirror.v1.StartTurnRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.StartTurnResponse>) responseObserver);
          break;
        case METHODID_REPORT_EVENTS:
          serviceImpl.reportEvents((dev.sidemirror.v1.ReportEventsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportEventsResponse>) responseObserver);
          break;
        case METHODID_FINISH_TURN:
          serviceImpl.finishTurn((dev.sidemirror.v1.FinishTurnRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.FinishTurnResponse>) responseObserver);
          break;
        case METHODID_GET_TURN:
          serviceImpl.getTurn((dev.sidemirror.v1.GetTurnRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetTurnResponse>) responseObserver);
          break;
        case METHODID_WATCH_TURNS:
          serviceImpl.watchTurns((dev.sidemirror.v1.WatchTurnsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchTurnsResponse>) responseObserver);
          break;
        case METHODID_LIST_TURNS:
          serviceImpl.listTurns((dev.sidemirror.v1.ListTurnsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListTurnsResponse>) responseObserver);
          break;
        case METHODID_SHOULD_REFLECT:
          serviceImpl.shouldReflect((dev.sidemirror.v1.ShouldReflectRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldReflectResponse>) responseObserver);
          break;
        case METHODID_REFLECT:
          serviceImpl.reflect((dev.sidemirror.v1.ReflectRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReflectResponse>) responseObserver);
          break;
        case METHODID_GET_REFLECTION_PROMPT:
          serviceImpl.getReflectionPrompt((dev.sidemirror.v1.GetReflectionPromptRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetReflectionPromptResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_RUN_TURN:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.runTurn(
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.RunTurnResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getCreateSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.CreateSessionRequest,
              dev.sidemirror.v1.CreateSessionResponse>(
                service, METHODID_CREATE_SESSION)))
        .addMethod(
          getGetSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetSessionRequest,
              dev.sidemirror.v1.GetSessionResponse>(
                service, METHODID_GET_SESSION)))
        .addMethod(
          getUpdateSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.UpdateSessionRequest,
              dev.sidemirror.v1.UpdateSessionResponse>(
                service, METHODID_UPDATE_SESSION)))
        .addMethod(
          getListSessionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListSessionsRequest,
              dev.sidemirror.v1.ListSessionsResponse>(
                service, METHODID_LIST_SESSIONS)))
        .addMethod(
          getDeleteSessionMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.DeleteSessionRequest,
              dev.sidemirror.v1.DeleteSessionResponse>(
                service, METHODID_DELETE_SESSION)))
        .addMethod(
          getGetThinkingPromptMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetThinkingPromptRequest,
              dev.sidemirror.v1.GetThinkingPromptResponse>(
                service, METHODID_GET_THINKING_PROMPT)))
        .addMethod(
          getRunTurnMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.RunTurnRequest,
              dev.sidemirror.v1.RunTurnResponse>(
                service, METHODID_RUN_TURN)))
        .addMethod(
          getStartTurnMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.StartTurnRequest,
              dev.sidemirror.v1.StartTurnResponse>(
                service, METHODID_START_TURN)))
        .addMethod(
          getReportEventsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReportEventsRequest,
              dev.sidemirror.v1.ReportEventsResponse>(
                service, METHODID_REPORT_EVENTS)))
        .addMethod(
          getFinishTurnMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.FinishTurnRequest,
              dev.sidemirror.v1.FinishTurnResponse>(
                service, METHODID_FINISH_TURN)))
        .addMethod(
          getGetTurnMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetTurnRequest,
              dev.sidemirror.v1.GetTurnResponse>(
                service, METHODID_GET_TURN)))
        .addMethod(
          getWatchTurnsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.WatchTurnsRequest,
              dev.sidemirror.v1.WatchTurnsResponse>(
                service, METHODID_WATCH_TURNS)))
        .addMethod(
          getListTurnsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListTurnsRequest,
              dev.sidemirror.v1.ListTurnsResponse>(
                service, METHODID_LIST_TURNS)))
        .addMethod(
          getShouldReflectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ShouldReflectRequest,
              dev.sidemirror.v1.ShouldReflectResponse>(
                service, METHODID_SHOULD_REFLECT)))
        .addMethod(
          getReflectMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReflectRequest,
              dev.sidemirror.v1.ReflectResponse>(
                service, METHODID_REFLECT)))
        .addMethod(
          getGetReflectionPromptMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetReflectionPromptRequest,
              dev.sidemirror.v1.GetReflectionPromptResponse>(
                service, METHODID_GET_REFLECTION_PROMPT)))
        .build();
  }

  private static abstract class ThinkingServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ThinkingServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sidemirror.v1.ThinkingProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ThinkingService");
    }
  }

  private static final class ThinkingServiceFileDescriptorSupplier
      extends ThinkingServiceBaseDescriptorSupplier {
    ThinkingServiceFileDescriptorSupplier() {}
  }

  private static final class ThinkingServiceMethodDescriptorSupplier
      extends ThinkingServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ThinkingServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (ThinkingServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ThinkingServiceFileDescriptorSupplier())
              .addMethod(getCreateSessionMethod())
              .addMethod(getGetSessionMethod())
              .addMethod(getUpdateSessionMethod())
              .addMethod(getListSessionsMethod())
              .addMethod(getDeleteSessionMethod())
              .addMethod(getGetThinkingPromptMethod())
              .addMethod(getRunTurnMethod())
              .addMethod(getStartTurnMethod())
              .addMethod(getReportEventsMethod())
              .addMethod(getFinishTurnMethod())
              .addMethod(getGetTurnMethod())
              .addMethod(getWatchTurnsMethod())
              .addMethod(getListTurnsMethod())
              .addMethod(getShouldReflectMethod())
              .addMethod(getReflectMethod())
              .addMethod(getGetReflectionPromptMethod())
              .build();
        }
      }
    }
    return result;
  }
}

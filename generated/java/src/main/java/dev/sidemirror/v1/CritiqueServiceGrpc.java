package dev.sidemirror.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Does this answer hold up?
 * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
 * that lets the response through. Whether a revision is called for is computed from problems that the server could find
 * in the response, the task or the evidence, whatever a model asks for.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class CritiqueServiceGrpc {

  private CritiqueServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidemirror.v1.CritiqueService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldCritiqueRequest,
      dev.sidemirror.v1.ShouldCritiqueResponse> getShouldCritiqueMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ShouldCritique",
      requestType = dev.sidemirror.v1.ShouldCritiqueRequest.class,
      responseType = dev.sidemirror.v1.ShouldCritiqueResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldCritiqueRequest,
      dev.sidemirror.v1.ShouldCritiqueResponse> getShouldCritiqueMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ShouldCritiqueRequest, dev.sidemirror.v1.ShouldCritiqueResponse> getShouldCritiqueMethod;
    if ((getShouldCritiqueMethod = CritiqueServiceGrpc.getShouldCritiqueMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getShouldCritiqueMethod = CritiqueServiceGrpc.getShouldCritiqueMethod) == null) {
          CritiqueServiceGrpc.getShouldCritiqueMethod = getShouldCritiqueMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ShouldCritiqueRequest, dev.sidemirror.v1.ShouldCritiqueResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ShouldCritique"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ShouldCritiqueRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ShouldCritiqueResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("ShouldCritique"))
              .build();
        }
      }
    }
    return getShouldCritiqueMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.CritiqueRequest,
      dev.sidemirror.v1.CritiqueResponse> getCritiqueMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Critique",
      requestType = dev.sidemirror.v1.CritiqueRequest.class,
      responseType = dev.sidemirror.v1.CritiqueResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.CritiqueRequest,
      dev.sidemirror.v1.CritiqueResponse> getCritiqueMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.CritiqueRequest, dev.sidemirror.v1.CritiqueResponse> getCritiqueMethod;
    if ((getCritiqueMethod = CritiqueServiceGrpc.getCritiqueMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getCritiqueMethod = CritiqueServiceGrpc.getCritiqueMethod) == null) {
          CritiqueServiceGrpc.getCritiqueMethod = getCritiqueMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.CritiqueRequest, dev.sidemirror.v1.CritiqueResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Critique"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.CritiqueRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.CritiqueResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("Critique"))
              .build();
        }
      }
    }
    return getCritiqueMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviseRequest,
      dev.sidemirror.v1.ReviseResponse> getReviseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Revise",
      requestType = dev.sidemirror.v1.ReviseRequest.class,
      responseType = dev.sidemirror.v1.ReviseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviseRequest,
      dev.sidemirror.v1.ReviseResponse> getReviseMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReviseRequest, dev.sidemirror.v1.ReviseResponse> getReviseMethod;
    if ((getReviseMethod = CritiqueServiceGrpc.getReviseMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getReviseMethod = CritiqueServiceGrpc.getReviseMethod) == null) {
          CritiqueServiceGrpc.getReviseMethod = getReviseMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReviseRequest, dev.sidemirror.v1.ReviseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Revise"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReviseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReviseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("Revise"))
              .build();
        }
      }
    }
    return getReviseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.EvaluateTraceRequest,
      dev.sidemirror.v1.EvaluateTraceResponse> getEvaluateTraceMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "EvaluateTrace",
      requestType = dev.sidemirror.v1.EvaluateTraceRequest.class,
      responseType = dev.sidemirror.v1.EvaluateTraceResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.EvaluateTraceRequest,
      dev.sidemirror.v1.EvaluateTraceResponse> getEvaluateTraceMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.EvaluateTraceRequest, dev.sidemirror.v1.EvaluateTraceResponse> getEvaluateTraceMethod;
    if ((getEvaluateTraceMethod = CritiqueServiceGrpc.getEvaluateTraceMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getEvaluateTraceMethod = CritiqueServiceGrpc.getEvaluateTraceMethod) == null) {
          CritiqueServiceGrpc.getEvaluateTraceMethod = getEvaluateTraceMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.EvaluateTraceRequest, dev.sidemirror.v1.EvaluateTraceResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "EvaluateTrace"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.EvaluateTraceRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.EvaluateTraceResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("EvaluateTrace"))
              .build();
        }
      }
    }
    return getEvaluateTraceMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.DebateRequest,
      dev.sidemirror.v1.DebateResponse> getDebateMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Debate",
      requestType = dev.sidemirror.v1.DebateRequest.class,
      responseType = dev.sidemirror.v1.DebateResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.DebateRequest,
      dev.sidemirror.v1.DebateResponse> getDebateMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.DebateRequest, dev.sidemirror.v1.DebateResponse> getDebateMethod;
    if ((getDebateMethod = CritiqueServiceGrpc.getDebateMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getDebateMethod = CritiqueServiceGrpc.getDebateMethod) == null) {
          CritiqueServiceGrpc.getDebateMethod = getDebateMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.DebateRequest, dev.sidemirror.v1.DebateResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Debate"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DebateRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DebateResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("Debate"))
              .build();
        }
      }
    }
    return getDebateMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListCritiquesRequest,
      dev.sidemirror.v1.ListCritiquesResponse> getListCritiquesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListCritiques",
      requestType = dev.sidemirror.v1.ListCritiquesRequest.class,
      responseType = dev.sidemirror.v1.ListCritiquesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListCritiquesRequest,
      dev.sidemirror.v1.ListCritiquesResponse> getListCritiquesMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListCritiquesRequest, dev.sidemirror.v1.ListCritiquesResponse> getListCritiquesMethod;
    if ((getListCritiquesMethod = CritiqueServiceGrpc.getListCritiquesMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getListCritiquesMethod = CritiqueServiceGrpc.getListCritiquesMethod) == null) {
          CritiqueServiceGrpc.getListCritiquesMethod = getListCritiquesMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListCritiquesRequest, dev.sidemirror.v1.ListCritiquesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListCritiques"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListCritiquesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListCritiquesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("ListCritiques"))
              .build();
        }
      }
    }
    return getListCritiquesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetCritiqueStatisticsRequest,
      dev.sidemirror.v1.GetCritiqueStatisticsResponse> getGetCritiqueStatisticsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetCritiqueStatistics",
      requestType = dev.sidemirror.v1.GetCritiqueStatisticsRequest.class,
      responseType = dev.sidemirror.v1.GetCritiqueStatisticsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetCritiqueStatisticsRequest,
      dev.sidemirror.v1.GetCritiqueStatisticsResponse> getGetCritiqueStatisticsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetCritiqueStatisticsRequest, dev.sidemirror.v1.GetCritiqueStatisticsResponse> getGetCritiqueStatisticsMethod;
    if ((getGetCritiqueStatisticsMethod = CritiqueServiceGrpc.getGetCritiqueStatisticsMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getGetCritiqueStatisticsMethod = CritiqueServiceGrpc.getGetCritiqueStatisticsMethod) == null) {
          CritiqueServiceGrpc.getGetCritiqueStatisticsMethod = getGetCritiqueStatisticsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetCritiqueStatisticsRequest, dev.sidemirror.v1.GetCritiqueStatisticsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetCritiqueStatistics"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetCritiqueStatisticsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetCritiqueStatisticsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("GetCritiqueStatistics"))
              .build();
        }
      }
    }
    return getGetCritiqueStatisticsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportCritiqueOutcomeRequest,
      dev.sidemirror.v1.ReportCritiqueOutcomeResponse> getReportCritiqueOutcomeMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportCritiqueOutcome",
      requestType = dev.sidemirror.v1.ReportCritiqueOutcomeRequest.class,
      responseType = dev.sidemirror.v1.ReportCritiqueOutcomeResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportCritiqueOutcomeRequest,
      dev.sidemirror.v1.ReportCritiqueOutcomeResponse> getReportCritiqueOutcomeMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportCritiqueOutcomeRequest, dev.sidemirror.v1.ReportCritiqueOutcomeResponse> getReportCritiqueOutcomeMethod;
    if ((getReportCritiqueOutcomeMethod = CritiqueServiceGrpc.getReportCritiqueOutcomeMethod) == null) {
      synchronized (CritiqueServiceGrpc.class) {
        if ((getReportCritiqueOutcomeMethod = CritiqueServiceGrpc.getReportCritiqueOutcomeMethod) == null) {
          CritiqueServiceGrpc.getReportCritiqueOutcomeMethod = getReportCritiqueOutcomeMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReportCritiqueOutcomeRequest, dev.sidemirror.v1.ReportCritiqueOutcomeResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportCritiqueOutcome"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportCritiqueOutcomeRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportCritiqueOutcomeResponse.getDefaultInstance()))
              .setSchemaDescriptor(new CritiqueServiceMethodDescriptorSupplier("ReportCritiqueOutcome"))
              .build();
        }
      }
    }
    return getReportCritiqueOutcomeMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static CritiqueServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceStub>() {
        @java.lang.Override
        public CritiqueServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CritiqueServiceStub(channel, callOptions);
        }
      };
    return CritiqueServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static CritiqueServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceBlockingV2Stub>() {
        @java.lang.Override
        public CritiqueServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CritiqueServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return CritiqueServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static CritiqueServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceBlockingStub>() {
        @java.lang.Override
        public CritiqueServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CritiqueServiceBlockingStub(channel, callOptions);
        }
      };
    return CritiqueServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static CritiqueServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<CritiqueServiceFutureStub>() {
        @java.lang.Override
        public CritiqueServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new CritiqueServiceFutureStub(channel, callOptions);
        }
      };
    return CritiqueServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Whether a response is worth a critique: a tool result with an error, more than 2,000 code points, or 3 or more tool
     * results. Asks no model and keeps nothing.
     * </pre>
     */
    default void shouldCritique(dev.sidemirror.v1.ShouldCritiqueRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldCritiqueResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getShouldCritiqueMethod(), responseObserver);
    }

    /**
     * <pre>
     * The verdict on a response. Kept when its status is OK.
     * </pre>
     */
    default void critique(dev.sidemirror.v1.CritiqueRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.CritiqueResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCritiqueMethod(), responseObserver);
    }

    /**
     * <pre>
     * Critique, revision and comparison, each step as it is made, the result last. Keeps the best response, never simply
     * the last: a revision has to be found better in both orders, and a tie keeps the original. Cancelling ends the call
     * to the model that is being made.
     * </pre>
     */
    default void revise(dev.sidemirror.v1.ReviseRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReviseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Correctness, helpfulness, safety, completeness and efficiency of a recorded turn or of given events. Completeness
     * and efficiency are computed without a model. Keeps nothing.
     * </pre>
     */
    default void evaluateTrace(dev.sidemirror.v1.EvaluateTraceRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.EvaluateTraceResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getEvaluateTraceMethod(), responseObserver);
    }

    /**
     * <pre>
     * Several critics with different briefs, then a judge. The first round is blind, a second one is held only when they
     * disagree. Each argument comes as it is made, the verdict last; it is kept when its status is OK.
     * </pre>
     */
    default void debate(dev.sidemirror.v1.DebateRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DebateResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDebateMethod(), responseObserver);
    }

    /**
     * <pre>
     * Kept critiques, the newest first.
     * </pre>
     */
    default void listCritiques(dev.sidemirror.v1.ListCritiquesRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListCritiquesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListCritiquesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Confidence, revision rate and agreement with reported outcomes, over time and by provider. Critiques whose status
     * is not OK are in none of these figures.
     * </pre>
     */
    default void getCritiqueStatistics(dev.sidemirror.v1.GetCritiqueStatisticsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetCritiqueStatisticsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetCritiqueStatisticsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Tells what became of a response, as it was when it was critiqued.
     * </pre>
     */
    default void reportCritiqueOutcome(dev.sidemirror.v1.ReportCritiqueOutcomeRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportCritiqueOutcomeResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportCritiqueOutcomeMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service CritiqueService.
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public static abstract class CritiqueServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return CritiqueServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service CritiqueService.
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public static final class CritiqueServiceStub
      extends io.grpc.stub.AbstractAsyncStub<CritiqueServiceStub> {
    private CritiqueServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CritiqueServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CritiqueServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Whether a response is worth a critique: a tool result with an error, more than 2,000 code points, or 3 or more tool
     * results. Asks no model and keeps nothing.
     * </pre>
     */
    public void shouldCritique(dev.sidemirror.v1.ShouldCritiqueRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldCritiqueResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getShouldCritiqueMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The verdict on a response. Kept when its status is OK.
     * </pre>
     */
    public void critique(dev.sidemirror.v1.CritiqueRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.CritiqueResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCritiqueMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Critique, revision and comparison, each step as it is made, the result last. Keeps the best response, never simply
     * the last: a revision has to be found better in both orders, and a tie keeps the original. Cancelling ends the call
     * to the model that is being made.
     * </pre>
     */
    public void revise(dev.sidemirror.v1.ReviseRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getReviseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Correctness, helpfulness, safety, completeness and efficiency of a recorded turn or of given events. Completeness
     * and efficiency are computed without a model. Keeps nothing.
     * </pre>
     */
    public void evaluateTrace(dev.sidemirror.v1.EvaluateTraceRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.EvaluateTraceResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getEvaluateTraceMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Several critics with different briefs, then a judge. The first round is blind, a second one is held only when they
     * disagree. Each argument comes as it is made, the verdict last; it is kept when its status is OK.
     * </pre>
     */
    public void debate(dev.sidemirror.v1.DebateRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DebateResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getDebateMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Kept critiques, the newest first.
     * </pre>
     */
    public void listCritiques(dev.sidemirror.v1.ListCritiquesRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListCritiquesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListCritiquesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Confidence, revision rate and agreement with reported outcomes, over time and by provider. Critiques whose status
     * is not OK are in none of these figures.
     * </pre>
     */
    public void getCritiqueStatistics(dev.sidemirror.v1.GetCritiqueStatisticsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetCritiqueStatisticsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetCritiqueStatisticsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Tells what became of a response, as it was when it was critiqued.
     * </pre>
     */
    public void reportCritiqueOutcome(dev.sidemirror.v1.ReportCritiqueOutcomeRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportCritiqueOutcomeResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportCritiqueOutcomeMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service CritiqueService.
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public static final class CritiqueServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<CritiqueServiceBlockingV2Stub> {
    private CritiqueServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CritiqueServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CritiqueServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Whether a response is worth a critique: a tool result with an error, more than 2,000 code points, or 3 or more tool
     * results. Asks no model and keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.ShouldCritiqueResponse shouldCritique(dev.sidemirror.v1.ShouldCritiqueRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getShouldCritiqueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The verdict on a response. Kept when its status is OK.
     * </pre>
     */
    public dev.sidemirror.v1.CritiqueResponse critique(dev.sidemirror.v1.CritiqueRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCritiqueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Critique, revision and comparison, each step as it is made, the result last. Keeps the best response, never simply
     * the last: a revision has to be found better in both orders, and a tie keeps the original. Cancelling ends the call
     * to the model that is being made.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.ReviseResponse>
        revise(dev.sidemirror.v1.ReviseRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getReviseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Correctness, helpfulness, safety, completeness and efficiency of a recorded turn or of given events. Completeness
     * and efficiency are computed without a model. Keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.EvaluateTraceResponse evaluateTrace(dev.sidemirror.v1.EvaluateTraceRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getEvaluateTraceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Several critics with different briefs, then a judge. The first round is blind, a second one is held only when they
     * disagree. Each argument comes as it is made, the verdict last; it is kept when its status is OK.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.DebateResponse>
        debate(dev.sidemirror.v1.DebateRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getDebateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Kept critiques, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListCritiquesResponse listCritiques(dev.sidemirror.v1.ListCritiquesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListCritiquesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Confidence, revision rate and agreement with reported outcomes, over time and by provider. Critiques whose status
     * is not OK are in none of these figures.
     * </pre>
     */
    public dev.sidemirror.v1.GetCritiqueStatisticsResponse getCritiqueStatistics(dev.sidemirror.v1.GetCritiqueStatisticsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetCritiqueStatisticsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of a response, as it was when it was critiqued.
     * </pre>
     */
    public dev.sidemirror.v1.ReportCritiqueOutcomeResponse reportCritiqueOutcome(dev.sidemirror.v1.ReportCritiqueOutcomeRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportCritiqueOutcomeMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service CritiqueService.
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public static final class CritiqueServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<CritiqueServiceBlockingStub> {
    private CritiqueServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CritiqueServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CritiqueServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Whether a response is worth a critique: a tool result with an error, more than 2,000 code points, or 3 or more tool
     * results. Asks no model and keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.ShouldCritiqueResponse shouldCritique(dev.sidemirror.v1.ShouldCritiqueRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getShouldCritiqueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The verdict on a response. Kept when its status is OK.
     * </pre>
     */
    public dev.sidemirror.v1.CritiqueResponse critique(dev.sidemirror.v1.CritiqueRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCritiqueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Critique, revision and comparison, each step as it is made, the result last. Keeps the best response, never simply
     * the last: a revision has to be found better in both orders, and a tie keeps the original. Cancelling ends the call
     * to the model that is being made.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.ReviseResponse> revise(
        dev.sidemirror.v1.ReviseRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getReviseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Correctness, helpfulness, safety, completeness and efficiency of a recorded turn or of given events. Completeness
     * and efficiency are computed without a model. Keeps nothing.
     * </pre>
     */
    public dev.sidemirror.v1.EvaluateTraceResponse evaluateTrace(dev.sidemirror.v1.EvaluateTraceRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getEvaluateTraceMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Several critics with different briefs, then a judge. The first round is blind, a second one is held only when they
     * disagree. Each argument comes as it is made, the verdict last; it is kept when its status is OK.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.DebateResponse> debate(
        dev.sidemirror.v1.DebateRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getDebateMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Kept critiques, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListCritiquesResponse listCritiques(dev.sidemirror.v1.ListCritiquesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListCritiquesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Confidence, revision rate and agreement with reported outcomes, over time and by provider. Critiques whose status
     * is not OK are in none of these figures.
     * </pre>
     */
    public dev.sidemirror.v1.GetCritiqueStatisticsResponse getCritiqueStatistics(dev.sidemirror.v1.GetCritiqueStatisticsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetCritiqueStatisticsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Tells what became of a response, as it was when it was critiqued.
     * </pre>
     */
    public dev.sidemirror.v1.ReportCritiqueOutcomeResponse reportCritiqueOutcome(dev.sidemirror.v1.ReportCritiqueOutcomeRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportCritiqueOutcomeMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service CritiqueService.
   * <pre>
   * Does this answer hold up?
   * A critique never blocks a response: when no model can say anything, these calls answer OK with a status and a default
   * that lets the response through. Whether a revision is called for is computed from problems that the server could find
   * in the response, the task or the evidence, whatever a model asks for.
   * </pre>
   */
  public static final class CritiqueServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<CritiqueServiceFutureStub> {
    private CritiqueServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected CritiqueServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new CritiqueServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Whether a response is worth a critique: a tool result with an error, more than 2,000 code points, or 3 or more tool
     * results. Asks no model and keeps nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ShouldCritiqueResponse> shouldCritique(
        dev.sidemirror.v1.ShouldCritiqueRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getShouldCritiqueMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The verdict on a response. Kept when its status is OK.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.CritiqueResponse> critique(
        dev.sidemirror.v1.CritiqueRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCritiqueMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Correctness, helpfulness, safety, completeness and efficiency of a recorded turn or of given events. Completeness
     * and efficiency are computed without a model. Keeps nothing.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.EvaluateTraceResponse> evaluateTrace(
        dev.sidemirror.v1.EvaluateTraceRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getEvaluateTraceMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Kept critiques, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListCritiquesResponse> listCritiques(
        dev.sidemirror.v1.ListCritiquesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListCritiquesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Confidence, revision rate and agreement with reported outcomes, over time and by provider. Critiques whose status
     * is not OK are in none of these figures.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetCritiqueStatisticsResponse> getCritiqueStatistics(
        dev.sidemirror.v1.GetCritiqueStatisticsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetCritiqueStatisticsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Tells what became of a response, as it was when it was critiqued.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReportCritiqueOutcomeResponse> reportCritiqueOutcome(
        dev.sidemirror.v1.ReportCritiqueOutcomeRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportCritiqueOutcomeMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_SHOULD_CRITIQUE = 0;
  private static final int METHODID_CRITIQUE = 1;
  private static final int METHODID_REVISE = 2;
  private static final int METHODID_EVALUATE_TRACE = 3;
  private static final int METHODID_DEBATE = 4;
  private static final int METHODID_LIST_CRITIQUES = 5;
  private static final int METHODID_GET_CRITIQUE_STATISTICS = 6;
  private static final int METHODID_REPORT_CRITIQUE_OUTCOME = 7;

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
        case METHODID_SHOULD_CRITIQUE:
          serviceImpl.shouldCritique((dev.sidemirror.v1.ShouldCritiqueRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ShouldCritiqueResponse>) responseObserver);
          break;
        case METHODID_CRITIQUE:
          serviceImpl.critique((dev.sidemirror.v1.CritiqueRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.CritiqueResponse>) responseObserver);
          break;
        case METHODID_REVISE:
          serviceImpl.revise((dev.sidemirror.v1.ReviseRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReviseResponse>) responseObserver);
          break;
        case METHODID_EVALUATE_TRACE:
          serviceImpl.evaluateTrace((dev.sidemirror.v1.EvaluateTraceRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.EvaluateTraceResponse>) responseObserver);
          break;
        case METHODID_DEBATE:
          serviceImpl.debate((dev.sidemirror.v1.DebateRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.DebateResponse>) responseObserver);
          break;
        case METHODID_LIST_CRITIQUES:
          serviceImpl.listCritiques((dev.sidemirror.v1.ListCritiquesRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListCritiquesResponse>) responseObserver);
          break;
        case METHODID_GET_CRITIQUE_STATISTICS:
          serviceImpl.getCritiqueStatistics((dev.sidemirror.v1.GetCritiqueStatisticsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetCritiqueStatisticsResponse>) responseObserver);
          break;
        case METHODID_REPORT_CRITIQUE_OUTCOME:
          serviceImpl.reportCritiqueOutcome((dev.sidemirror.v1.ReportCritiqueOutcomeRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportCritiqueOutcomeResponse>) responseObserver);
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
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getShouldCritiqueMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ShouldCritiqueRequest,
              dev.sidemirror.v1.ShouldCritiqueResponse>(
                service, METHODID_SHOULD_CRITIQUE)))
        .addMethod(
          getCritiqueMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.CritiqueRequest,
              dev.sidemirror.v1.CritiqueResponse>(
                service, METHODID_CRITIQUE)))
        .addMethod(
          getReviseMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReviseRequest,
              dev.sidemirror.v1.ReviseResponse>(
                service, METHODID_REVISE)))
        .addMethod(
          getEvaluateTraceMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.EvaluateTraceRequest,
              dev.sidemirror.v1.EvaluateTraceResponse>(
                service, METHODID_EVALUATE_TRACE)))
        .addMethod(
          getDebateMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.DebateRequest,
              dev.sidemirror.v1.DebateResponse>(
                service, METHODID_DEBATE)))
        .addMethod(
          getListCritiquesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListCritiquesRequest,
              dev.sidemirror.v1.ListCritiquesResponse>(
                service, METHODID_LIST_CRITIQUES)))
        .addMethod(
          getGetCritiqueStatisticsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetCritiqueStatisticsRequest,
              dev.sidemirror.v1.GetCritiqueStatisticsResponse>(
                service, METHODID_GET_CRITIQUE_STATISTICS)))
        .addMethod(
          getReportCritiqueOutcomeMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReportCritiqueOutcomeRequest,
              dev.sidemirror.v1.ReportCritiqueOutcomeResponse>(
                service, METHODID_REPORT_CRITIQUE_OUTCOME)))
        .build();
  }

  private static abstract class CritiqueServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    CritiqueServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sidemirror.v1.CritiqueProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("CritiqueService");
    }
  }

  private static final class CritiqueServiceFileDescriptorSupplier
      extends CritiqueServiceBaseDescriptorSupplier {
    CritiqueServiceFileDescriptorSupplier() {}
  }

  private static final class CritiqueServiceMethodDescriptorSupplier
      extends CritiqueServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    CritiqueServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (CritiqueServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new CritiqueServiceFileDescriptorSupplier())
              .addMethod(getShouldCritiqueMethod())
              .addMethod(getCritiqueMethod())
              .addMethod(getReviseMethod())
              .addMethod(getEvaluateTraceMethod())
              .addMethod(getDebateMethod())
              .addMethod(getListCritiquesMethod())
              .addMethod(getGetCritiqueStatisticsMethod())
              .addMethod(getReportCritiqueOutcomeMethod())
              .build();
        }
      }
    }
    return result;
  }
}

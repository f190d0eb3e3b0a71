package dev.sidemirror.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
 * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
 * goal the 3 newest reflections are kept.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class GoalReflectionServiceGrpc {

  private GoalReflectionServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidemirror.v1.GoalReflectionService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportGoalRequest,
      dev.sidemirror.v1.ReportGoalResponse> getReportGoalMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ReportGoal",
      requestType = dev.sidemirror.v1.ReportGoalRequest.class,
      responseType = dev.sidemirror.v1.ReportGoalResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportGoalRequest,
      dev.sidemirror.v1.ReportGoalResponse> getReportGoalMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ReportGoalRequest, dev.sidemirror.v1.ReportGoalResponse> getReportGoalMethod;
    if ((getReportGoalMethod = GoalReflectionServiceGrpc.getReportGoalMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getReportGoalMethod = GoalReflectionServiceGrpc.getReportGoalMethod) == null) {
          GoalReflectionServiceGrpc.getReportGoalMethod = getReportGoalMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ReportGoalRequest, dev.sidemirror.v1.ReportGoalResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ReportGoal"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportGoalRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ReportGoalResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("ReportGoal"))
              .build();
        }
      }
    }
    return getReportGoalMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListGoalReportsRequest,
      dev.sidemirror.v1.ListGoalReportsResponse> getListGoalReportsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListGoalReports",
      requestType = dev.sidemirror.v1.ListGoalReportsRequest.class,
      responseType = dev.sidemirror.v1.ListGoalReportsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListGoalReportsRequest,
      dev.sidemirror.v1.ListGoalReportsResponse> getListGoalReportsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListGoalReportsRequest, dev.sidemirror.v1.ListGoalReportsResponse> getListGoalReportsMethod;
    if ((getListGoalReportsMethod = GoalReflectionServiceGrpc.getListGoalReportsMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getListGoalReportsMethod = GoalReflectionServiceGrpc.getListGoalReportsMethod) == null) {
          GoalReflectionServiceGrpc.getListGoalReportsMethod = getListGoalReportsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListGoalReportsRequest, dev.sidemirror.v1.ListGoalReportsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListGoalReports"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListGoalReportsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListGoalReportsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("ListGoalReports"))
              .build();
        }
      }
    }
    return getListGoalReportsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.RetryGoalReportRequest,
      dev.sidemirror.v1.RetryGoalReportResponse> getRetryGoalReportMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RetryGoalReport",
      requestType = dev.sidemirror.v1.RetryGoalReportRequest.class,
      responseType = dev.sidemirror.v1.RetryGoalReportResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.RetryGoalReportRequest,
      dev.sidemirror.v1.RetryGoalReportResponse> getRetryGoalReportMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.RetryGoalReportRequest, dev.sidemirror.v1.RetryGoalReportResponse> getRetryGoalReportMethod;
    if ((getRetryGoalReportMethod = GoalReflectionServiceGrpc.getRetryGoalReportMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getRetryGoalReportMethod = GoalReflectionServiceGrpc.getRetryGoalReportMethod) == null) {
          GoalReflectionServiceGrpc.getRetryGoalReportMethod = getRetryGoalReportMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.RetryGoalReportRequest, dev.sidemirror.v1.RetryGoalReportResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RetryGoalReport"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.RetryGoalReportRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.RetryGoalReportResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("RetryGoalReport"))
              .build();
        }
      }
    }
    return getRetryGoalReportMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.GetGoalReflectionsRequest,
      dev.sidemirror.v1.GetGoalReflectionsResponse> getGetGoalReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetGoalReflections",
      requestType = dev.sidemirror.v1.GetGoalReflectionsRequest.class,
      responseType = dev.sidemirror.v1.GetGoalReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.GetGoalReflectionsRequest,
      dev.sidemirror.v1.GetGoalReflectionsResponse> getGetGoalReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.GetGoalReflectionsRequest, dev.sidemirror.v1.GetGoalReflectionsResponse> getGetGoalReflectionsMethod;
    if ((getGetGoalReflectionsMethod = GoalReflectionServiceGrpc.getGetGoalReflectionsMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getGetGoalReflectionsMethod = GoalReflectionServiceGrpc.getGetGoalReflectionsMethod) == null) {
          GoalReflectionServiceGrpc.getGetGoalReflectionsMethod = getGetGoalReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.GetGoalReflectionsRequest, dev.sidemirror.v1.GetGoalReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetGoalReflections"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetGoalReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.GetGoalReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("GetGoalReflections"))
              .build();
        }
      }
    }
    return getGetGoalReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.ListRecentGoalsRequest,
      dev.sidemirror.v1.ListRecentGoalsResponse> getListRecentGoalsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListRecentGoals",
      requestType = dev.sidemirror.v1.ListRecentGoalsRequest.class,
      responseType = dev.sidemirror.v1.ListRecentGoalsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.ListRecentGoalsRequest,
      dev.sidemirror.v1.ListRecentGoalsResponse> getListRecentGoalsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.ListRecentGoalsRequest, dev.sidemirror.v1.ListRecentGoalsResponse> getListRecentGoalsMethod;
    if ((getListRecentGoalsMethod = GoalReflectionServiceGrpc.getListRecentGoalsMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getListRecentGoalsMethod = GoalReflectionServiceGrpc.getListRecentGoalsMethod) == null) {
          GoalReflectionServiceGrpc.getListRecentGoalsMethod = getListRecentGoalsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.ListRecentGoalsRequest, dev.sidemirror.v1.ListRecentGoalsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListRecentGoals"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListRecentGoalsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.ListRecentGoalsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("ListRecentGoals"))
              .build();
        }
      }
    }
    return getListRecentGoalsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteGoalReflectionsRequest,
      dev.sidemirror.v1.DeleteGoalReflectionsResponse> getDeleteGoalReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteGoalReflections",
      requestType = dev.sidemirror.v1.DeleteGoalReflectionsRequest.class,
      responseType = dev.sidemirror.v1.DeleteGoalReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteGoalReflectionsRequest,
      dev.sidemirror.v1.DeleteGoalReflectionsResponse> getDeleteGoalReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.DeleteGoalReflectionsRequest, dev.sidemirror.v1.DeleteGoalReflectionsResponse> getDeleteGoalReflectionsMethod;
    if ((getDeleteGoalReflectionsMethod = GoalReflectionServiceGrpc.getDeleteGoalReflectionsMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getDeleteGoalReflectionsMethod = GoalReflectionServiceGrpc.getDeleteGoalReflectionsMethod) == null) {
          GoalReflectionServiceGrpc.getDeleteGoalReflectionsMethod = getDeleteGoalReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.DeleteGoalReflectionsRequest, dev.sidemirror.v1.DeleteGoalReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteGoalReflections"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteGoalReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.DeleteGoalReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("DeleteGoalReflections"))
              .build();
        }
      }
    }
    return getDeleteGoalReflectionsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildGoalContextRequest,
      dev.sidemirror.v1.BuildGoalContextResponse> getBuildGoalContextMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "BuildGoalContext",
      requestType = dev.sidemirror.v1.BuildGoalContextRequest.class,
      responseType = dev.sidemirror.v1.BuildGoalContextResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildGoalContextRequest,
      dev.sidemirror.v1.BuildGoalContextResponse> getBuildGoalContextMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.BuildGoalContextRequest, dev.sidemirror.v1.BuildGoalContextResponse> getBuildGoalContextMethod;
    if ((getBuildGoalContextMethod = GoalReflectionServiceGrpc.getBuildGoalContextMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getBuildGoalContextMethod = GoalReflectionServiceGrpc.getBuildGoalContextMethod) == null) {
          GoalReflectionServiceGrpc.getBuildGoalContextMethod = getBuildGoalContextMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.BuildGoalContextRequest, dev.sidemirror.v1.BuildGoalContextResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "BuildGoalContext"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.BuildGoalContextRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.BuildGoalContextResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("BuildGoalContext"))
              .build();
        }
      }
    }
    return getBuildGoalContextMethod;
  }

  private static volatile io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchGoalReflectionsRequest,
      dev.sidemirror.v1.WatchGoalReflectionsResponse> getWatchGoalReflectionsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchGoalReflections",
      requestType = dev.sidemirror.v1.WatchGoalReflectionsRequest.class,
      responseType = dev.sidemirror.v1.WatchGoalReflectionsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchGoalReflectionsRequest,
      dev.sidemirror.v1.WatchGoalReflectionsResponse> getWatchGoalReflectionsMethod() {
    io.grpc.MethodDescriptor<dev.sidemirror.v1.WatchGoalReflectionsRequest, dev.sidemirror.v1.WatchGoalReflectionsResponse> getWatchGoalReflectionsMethod;
    if ((getWatchGoalReflectionsMethod = GoalReflectionServiceGrpc.getWatchGoalReflectionsMethod) == null) {
      synchronized (GoalReflectionServiceGrpc.class) {
        if ((getWatchGoalReflectionsMethod = GoalReflectionServiceGrpc.getWatchGoalReflectionsMethod) == null) {
          GoalReflectionServiceGrpc.getWatchGoalReflectionsMethod = getWatchGoalReflectionsMethod =
              io.grpc.MethodDescriptor.<dev.sidemirror.v1.WatchGoalReflectionsRequest, dev.sidemirror.v1.WatchGoalReflectionsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchGoalReflections"))
              .setSafe(true)
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.WatchGoalReflectionsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  dev.sidemirror.v1.WatchGoalReflectionsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new GoalReflectionServiceMethodDescriptorSupplier("WatchGoalReflections"))
              .build();
        }
      }
    }
    return getWatchGoalReflectionsMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static GoalReflectionServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceStub>() {
        @java.lang.Override
        public GoalReflectionServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GoalReflectionServiceStub(channel, callOptions);
        }
      };
    return GoalReflectionServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static GoalReflectionServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceBlockingV2Stub>() {
        @java.lang.Override
        public GoalReflectionServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GoalReflectionServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return GoalReflectionServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static GoalReflectionServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceBlockingStub>() {
        @java.lang.Override
        public GoalReflectionServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GoalReflectionServiceBlockingStub(channel, callOptions);
        }
      };
    return GoalReflectionServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static GoalReflectionServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<GoalReflectionServiceFutureStub>() {
        @java.lang.Override
        public GoalReflectionServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new GoalReflectionServiceFutureStub(channel, callOptions);
        }
      };
    return GoalReflectionServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Reports that a goal has come to its end. Answers once the report is durable; the reflection follows, also after a
     * crash. A report of which no reflection can be made, after many tries, is listed as dead.
     * </pre>
     */
    default void reportGoal(dev.sidemirror.v1.ReportGoalRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportGoalResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReportGoalMethod(), responseObserver);
    }

    /**
     * <pre>
     * Reports, the newest first: those that wait, those that are done in the last 7 days, and those that failed in the
     * last 90.
     * </pre>
     */
    default void listGoalReports(dev.sidemirror.v1.ListGoalReportsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListGoalReportsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListGoalReportsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Gives a dead report all its tries again.
     * </pre>
     */
    default void retryGoalReport(dev.sidemirror.v1.RetryGoalReportRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.RetryGoalReportResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRetryGoalReportMethod(), responseObserver);
    }

    /**
     * <pre>
     * The reflections of a goal, the newest first.
     * </pre>
     */
    default void getGoalReflections(dev.sidemirror.v1.GetGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetGoalReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The goals with the newest reflections, at most 10, the newest first.
     * </pre>
     */
    default void listRecentGoals(dev.sidemirror.v1.ListRecentGoalsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListRecentGoalsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListRecentGoalsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Deletes the reflections of a goal, with its reports that have ended. A report that is still being worked on may make
     * a new reflection afterwards.
     * </pre>
     */
    default void deleteGoalReflections(dev.sidemirror.v1.DeleteGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteGoalReflectionsMethod(), responseObserver);
    }

    /**
     * <pre>
     * The `[PAST REFLECTIONS]` block: with a goal that goal's, and those of goals similar to the task while there is room;
     * with a task alone those of similar goals; with neither the recent ones. The most important first, then the newest.
     * </pre>
     */
    default void buildGoalContext(dev.sidemirror.v1.BuildGoalContextRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildGoalContextResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getBuildGoalContextMethod(), responseObserver);
    }

    /**
     * <pre>
     * Each reflection as it is stored, once, whichever sidecar made it.
     * </pre>
     */
    default void watchGoalReflections(dev.sidemirror.v1.WatchGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchGoalReflectionsMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service GoalReflectionService.
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public static abstract class GoalReflectionServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return GoalReflectionServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service GoalReflectionService.
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public static final class GoalReflectionServiceStub
      extends io.grpc.stub.AbstractAsyncStub<GoalReflectionServiceStub> {
    private GoalReflectionServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GoalReflectionServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GoalReflectionServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reports that a goal has come to its end. Answers once the report is durable; the reflection follows, also after a
     * crash. A report of which no reflection can be made, after many tries, is listed as dead.
     * </pre>
     */
    public void reportGoal(dev.sidemirror.v1.ReportGoalRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportGoalResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReportGoalMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Reports, the newest first: those that wait, those that are done in the last 7 days, and those that failed in the
     * last 90.
     * </pre>
     */
    public void listGoalReports(dev.sidemirror.v1.ListGoalReportsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListGoalReportsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListGoalReportsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Gives a dead report all its tries again.
     * </pre>
     */
    public void retryGoalReport(dev.sidemirror.v1.RetryGoalReportRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.RetryGoalReportResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRetryGoalReportMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The reflections of a goal, the newest first.
     * </pre>
     */
    public void getGoalReflections(dev.sidemirror.v1.GetGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetGoalReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The goals with the newest reflections, at most 10, the newest first.
     * </pre>
     */
    public void listRecentGoals(dev.sidemirror.v1.ListRecentGoalsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListRecentGoalsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListRecentGoalsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Deletes the reflections of a goal, with its reports that have ended. A report that is still being worked on may make
     * a new reflection afterwards.
     * </pre>
     */
    public void deleteGoalReflections(dev.sidemirror.v1.DeleteGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteGoalReflectionsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * The `[PAST REFLECTIONS]` block: with a goal that goal's, and those of goals similar to the task while there is room;
     * with a task alone those of similar goals; with neither the recent ones. The most important first, then the newest.
     * </pre>
     */
    public void buildGoalContext(dev.sidemirror.v1.BuildGoalContextRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildGoalContextResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getBuildGoalContextMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Each reflection as it is stored, once, whichever sidecar made it.
     * </pre>
     */
    public void watchGoalReflections(dev.sidemirror.v1.WatchGoalReflectionsRequest request,
        io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchGoalReflectionsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchGoalReflectionsMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service GoalReflectionService.
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public static final class GoalReflectionServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<GoalReflectionServiceBlockingV2Stub> {
    private GoalReflectionServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GoalReflectionServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GoalReflectionServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Reports that a goal has come to its end. Answers once the report is durable; the reflection follows, also after a
     * crash. A report of which no reflection can be made, after many tries, is listed as dead.
     * </pre>
     */
    public dev.sidemirror.v1.ReportGoalResponse reportGoal(dev.sidemirror.v1.ReportGoalRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReportGoalMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reports, the newest first: those that wait, those that are done in the last 7 days, and those that failed in the
     * last 90.
     * </pre>
     */
    public dev.sidemirror.v1.ListGoalReportsResponse listGoalReports(dev.sidemirror.v1.ListGoalReportsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListGoalReportsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a dead report all its tries again.
     * </pre>
     */
    public dev.sidemirror.v1.RetryGoalReportResponse retryGoalReport(dev.sidemirror.v1.RetryGoalReportRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRetryGoalReportMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The reflections of a goal, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.GetGoalReflectionsResponse getGoalReflections(dev.sidemirror.v1.GetGoalReflectionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetGoalReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The goals with the newest reflections, at most 10, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListRecentGoalsResponse listRecentGoals(dev.sidemirror.v1.ListRecentGoalsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListRecentGoalsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes the reflections of a goal, with its reports that have ended. A report that is still being worked on may make
     * a new reflection afterwards.
     * </pre>
     */
    public dev.sidemirror.v1.DeleteGoalReflectionsResponse deleteGoalReflections(dev.sidemirror.v1.DeleteGoalReflectionsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteGoalReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The `[PAST REFLECTIONS]` block: with a goal that goal's, and those of goals similar to the task while there is room;
     * with a task alone those of similar goals; with neither the recent ones. The most important first, then the newest.
     * </pre>
     */
    public dev.sidemirror.v1.BuildGoalContextResponse buildGoalContext(dev.sidemirror.v1.BuildGoalContextRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getBuildGoalContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Each reflection as it is stored, once, whichever sidecar made it.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, dev.sidemirror.v1.WatchGoalReflectionsResponse>
        watchGoalReflections(dev.sidemirror.v1.WatchGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchGoalReflectionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service GoalReflectionService.
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public static final class GoalReflectionServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<GoalReflectionServiceBlockingStub> {
    private GoalReflectionServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GoalReflectionServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GoalReflectionServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reports that a goal has come to its end. Answers once the report is durable; the reflection follows, also after a
     * crash. A report of which no reflection can be made, after many tries, is listed as dead.
     * </pre>
     */
    public dev.sidemirror.v1.ReportGoalResponse reportGoal(dev.sidemirror.v1.ReportGoalRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReportGoalMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Reports, the newest first: those that wait, those that are done in the last 7 days, and those that failed in the
     * last 90.
     * </pre>
     */
    public dev.sidemirror.v1.ListGoalReportsResponse listGoalReports(dev.sidemirror.v1.ListGoalReportsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListGoalReportsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Gives a dead report all its tries again.
     * </pre>
     */
    public dev.sidemirror.v1.RetryGoalReportResponse retryGoalReport(dev.sidemirror.v1.RetryGoalReportRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRetryGoalReportMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The reflections of a goal, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.GetGoalReflectionsResponse getGoalReflections(dev.sidemirror.v1.GetGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetGoalReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The goals with the newest reflections, at most 10, the newest first.
     * </pre>
     */
    public dev.sidemirror.v1.ListRecentGoalsResponse listRecentGoals(dev.sidemirror.v1.ListRecentGoalsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListRecentGoalsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Deletes the reflections of a goal, with its reports that have ended. A report that is still being worked on may make
     * a new reflection afterwards.
     * </pre>
     */
    public dev.sidemirror.v1.DeleteGoalReflectionsResponse deleteGoalReflections(dev.sidemirror.v1.DeleteGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteGoalReflectionsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * The `[PAST REFLECTIONS]` block: with a goal that goal's, and those of goals similar to the task while there is room;
     * with a task alone those of similar goals; with neither the recent ones. The most important first, then the newest.
     * </pre>
     */
    public dev.sidemirror.v1.BuildGoalContextResponse buildGoalContext(dev.sidemirror.v1.BuildGoalContextRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getBuildGoalContextMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Each reflection as it is stored, once, whichever sidecar made it.
     * </pre>
     */
    public java.util.Iterator<dev.sidemirror.v1.WatchGoalReflectionsResponse> watchGoalReflections(
        dev.sidemirror.v1.WatchGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchGoalReflectionsMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service GoalReflectionService.
   * <pre>
   * What a finished goal taught. An agent reports that a goal has succeeded or failed and goes on at once; the server
   * reflects on it, keeps what it found for 7 days, and has it ready when the same or a similar goal comes up. Of each
   * goal the 3 newest reflections are kept.
   * </pre>
   */
  public static final class GoalReflectionServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<GoalReflectionServiceFutureStub> {
    private GoalReflectionServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected GoalReflectionServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new GoalReflectionServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Reports that a goal has come to its end. Answers once the report is durable; the reflection follows, also after a
     * crash. A report of which no reflection can be made, after many tries, is listed as dead.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ReportGoalResponse> reportGoal(
        dev.sidemirror.v1.ReportGoalRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReportGoalMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Reports, the newest first: those that wait, those that are done in the last 7 days, and those that failed in the
     * last 90.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListGoalReportsResponse> listGoalReports(
        dev.sidemirror.v1.ListGoalReportsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListGoalReportsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Gives a dead report all its tries again.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.RetryGoalReportResponse> retryGoalReport(
        dev.sidemirror.v1.RetryGoalReportRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRetryGoalReportMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The reflections of a goal, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.GetGoalReflectionsResponse> getGoalReflections(
        dev.sidemirror.v1.GetGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetGoalReflectionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The goals with the newest reflections, at most 10, the newest first.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.ListRecentGoalsResponse> listRecentGoals(
        dev.sidemirror.v1.ListRecentGoalsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListRecentGoalsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Deletes the reflections of a goal, with its reports that have ended. A report that is still being worked on may make
     * a new reflection afterwards.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.DeleteGoalReflectionsResponse> deleteGoalReflections(
        dev.sidemirror.v1.DeleteGoalReflectionsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteGoalReflectionsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * The `[PAST REFLECTIONS]` block: with a goal that goal's, and those of goals similar to the task while there is room;
     * with a task alone those of similar goals; with neither the recent ones. The most important first, then the newest.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<dev.sidemirror.v1.BuildGoalContextResponse> buildGoalContext(
        dev.sidemirror.v1.BuildGoalContextRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getBuildGoalContextMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_REPORT_GOAL = 0;
  private static final int METHODID_LIST_GOAL_REPORTS = 1;
  private static final int METHODID_RETRY_GOAL_REPORT = 2;
  private static final int METHODID_GET_GOAL_REFLECTIONS = 3;
  private static final int METHODID_LIST_RECENT_GOALS = 4;
  private static final int METHODID_DELETE_GOAL_REFLECTIONS = 5;
  private static final int METHODID_BUILD_GOAL_CONTEXT = 6;
  private static final int METHODID_WATCH_GOAL_REFLECTIONS = 7;

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
        case METHODID_REPORT_GOAL:
          serviceImpl.reportGoal((dev.sidemirror.v1.ReportGoalRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ReportGoalResponse>) responseObserver);
          break;
        case METHODID_LIST_GOAL_REPORTS:
          serviceImpl.listGoalReports((dev.sidemirror.v1.ListGoalReportsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListGoalReportsResponse>) responseObserver);
          break;
        case METHODID_RETRY_GOAL_REPORT:
          serviceImpl.retryGoalReport((dev.sidemirror.v1.RetryGoalReportRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.RetryGoalReportResponse>) responseObserver);
          break;
        case METHODID_GET_GOAL_REFLECTIONS:
          serviceImpl.getGoalReflections((dev.sidemirror.v1.GetGoalReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.GetGoalReflectionsResponse>) responseObserver);
          break;
        case METHODID_LIST_RECENT_GOALS:
          serviceImpl.listRecentGoals((dev.sidemirror.v1.ListRecentGoalsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.ListRecentGoalsResponse>) responseObserver);
          break;
        case METHODID_DELETE_GOAL_REFLECTIONS:
          serviceImpl.deleteGoalReflections((dev.sidemirror.v1.DeleteGoalReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.DeleteGoalReflectionsResponse>) responseObserver);
          break;
        case METHODID_BUILD_GOAL_CONTEXT:
          serviceImpl.buildGoalContext((dev.sidemirror.v1.BuildGoalContextRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.BuildGoalContextResponse>) responseObserver);
          break;
        case METHODID_WATCH_GOAL_REFLECTIONS:
          serviceImpl.watchGoalReflections((dev.sidemirror.v1.WatchGoalReflectionsRequest) request,
              (io.grpc.stub.StreamObserver<dev.sidemirror.v1.WatchGoalReflectionsResponse>) responseObserver);
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
          getReportGoalMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ReportGoalRequest,
              dev.sidemirror.v1.ReportGoalResponse>(
                service, METHODID_REPORT_GOAL)))
        .addMethod(
          getListGoalReportsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListGoalReportsRequest,
              dev.sidemirror.v1.ListGoalReportsResponse>(
                service, METHODID_LIST_GOAL_REPORTS)))
        .addMethod(
          getRetryGoalReportMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.RetryGoalReportRequest,
              dev.sidemirror.v1.RetryGoalReportResponse>(
                service, METHODID_RETRY_GOAL_REPORT)))
        .addMethod(
          getGetGoalReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.GetGoalReflectionsRequest,
              dev.sidemirror.v1.GetGoalReflectionsResponse>(
                service, METHODID_GET_GOAL_REFLECTIONS)))
        .addMethod(
          getListRecentGoalsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.ListRecentGoalsRequest,
              dev.sidemirror.v1.ListRecentGoalsResponse>(
                service, METHODID_LIST_RECENT_GOALS)))
        .addMethod(
          getDeleteGoalReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.DeleteGoalReflectionsRequest,
              dev.sidemirror.v1.DeleteGoalReflectionsResponse>(
                service, METHODID_DELETE_GOAL_REFLECTIONS)))
        .addMethod(
          getBuildGoalContextMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              dev.sidemirror.v1.BuildGoalContextRequest,
              dev.sidemirror.v1.BuildGoalContextResponse>(
                service, METHODID_BUILD_GOAL_CONTEXT)))
        .addMethod(
          getWatchGoalReflectionsMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              dev.sidemirror.v1.WatchGoalReflectionsRequest,
              dev.sidemirror.v1.WatchGoalReflectionsResponse>(
                service, METHODID_WATCH_GOAL_REFLECTIONS)))
        .build();
  }

  private static abstract class GoalReflectionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    GoalReflectionServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return dev.sidemirror.v1.GoalReflectionProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("GoalReflectionService");
    }
  }

  private static final class GoalReflectionServiceFileDescriptorSupplier
      extends GoalReflectionServiceBaseDescriptorSupplier {
    GoalReflectionServiceFileDescriptorSupplier() {}
  }

  private static final class GoalReflectionServiceMethodDescriptorSupplier
      extends GoalReflectionServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    GoalReflectionServiceMethodDescriptorSupplier(java.lang.String methodName) {
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
      synchronized (GoalReflectionServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new GoalReflectionServiceFileDescriptorSupplier())
              .addMethod(getReportGoalMethod())
              .addMethod(getListGoalReportsMethod())
              .addMethod(getRetryGoalReportMethod())
              .addMethod(getGetGoalReflectionsMethod())
              .addMethod(getListRecentGoalsMethod())
              .addMethod(getDeleteGoalReflectionsMethod())
              .addMethod(getBuildGoalContextMethod())
              .addMethod(getWatchGoalReflectionsMethod())
              .build();
        }
      }
    }
    return result;
  }
}

// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives{exchanges gather-bytes=200}))' -split-input-file | FileCheck %s --enable-var-scope

// Devices of several tasks: everyone gets the rows of its chunk, adds them in the order of the
// replicas, and all get the sums. Chunks are whole lines of 64 bytes; the last one here has 8 elements.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[A:.*]]: tensor<2x20xf32>, %[[B:.*]]: tensor<2x20xf32>, %[[C:.*]]: tensor<2x20xf32>
// CHECK-DAG: %[[FA:.*]] = gantry.reshape %[[A]] : (tensor<2x20xf32>) -> tensor<40xf32>
// CHECK-DAG: %[[FB:.*]] = gantry.reshape %[[B]]
// CHECK-DAG: %[[FC:.*]] = gantry.reshape %[[C]]
// CHECK: %[[CA:.*]] = gantry.copy %[[FA]] to "/job:w/task:0/device:CPU:0" : tensor<40xf32>
// CHECK: %[[CB:.*]] = gantry.copy %[[FB]] to "/job:w/task:1/device:CPU:0"
// CHECK: %[[CC:.*]] = gantry.copy %[[FC]] to "/job:w/task:2/device:CPU:0"
// CHECK: %[[R:.*]]:3 = gantry.exchange all_to_all %[[CA]], %[[CB]], %[[CC]] on ["/job:w/task:0/device:CPU:0", "/job:w/task:1/device:CPU:0", "/job:w/task:2/device:CPU:0"] {gantry.name = "g/all_to_all"} : (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) -> (tensor<48xf32>, tensor<48xf32>, tensor<24xf32>)
// CHECK: %[[R0:.*]] = gantry.reshape %[[R]]#0 : (tensor<48xf32>) -> tensor<3x16xf32>
// CHECK: %[[S0:.*]] = gantry.add_rows %[[R0]] {gantry.device = #gantry.device<"/job:w/task:0/device:CPU:0">, gantry.name = "g/sum/replica_0"} : (tensor<3x16xf32>) -> tensor<16xf32>
// CHECK: gantry.add_rows {{.*}}task:1{{.*}} : (tensor<3x16xf32>) -> tensor<16xf32>
// CHECK: gantry.add_rows {{.*}}task:2{{.*}} : (tensor<3x8xf32>) -> tensor<8xf32>
// CHECK: %[[G:.*]]:3 = gantry.exchange all_gather {{.*}} : (tensor<16xf32>, tensor<16xf32>, tensor<8xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>)
// CHECK: %[[Y0:.*]] = gantry.reshape %[[G]]#0 : (tensor<40xf32>) -> tensor<2x20xf32>
// CHECK: return %[[Y0]]
// CHECK-NOT: gantry.slice
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/job:w/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">, #gantry.device<"/job:w/replica:0/task:2/device:CPU:0">]>} {
  func.func @sum(%a: tensor<2x20xf32>, %b: tensor<2x20xf32>, %c: tensor<2x20xf32>) -> tensor<2x20xf32> {
    %0:3 = gantry.all_reduce sum %a, %b, %c on ["/job:w/task:{0..2}/CPU:0"] {gantry.name = "g"} : (tensor<2x20xf32>, tensor<2x20xf32>, tensor<2x20xf32>) -> (tensor<2x20xf32>, tensor<2x20xf32>, tensor<2x20xf32>)
    return %0#0 : tensor<2x20xf32>
  }

  // Fewer lines than tasks: whose chunk is empty adds nothing, and takes part.
  // CHECK-LABEL: func.func @empty(
  // CHECK: gantry.exchange all_to_all {{.*}} -> (tensor<48xf32>, tensor<12xf32>, tensor<0xf32>)
  // CHECK-COUNT-2: gantry.add_rows
  // CHECK-NOT: gantry.add_rows
  // CHECK: gantry.exchange all_gather {{.*}} : (tensor<16xf32>, tensor<4xf32>, tensor<0xf32>) ->
  func.func @empty(%a: tensor<20xf32>) -> tensor<20xf32> {
    %0:3 = gantry.all_reduce sum %a, %a, %a on ["/job:w/task:{0..2}/CPU:0"] : (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) -> (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>)
    return %0#2 : tensor<20xf32>
  }

  // Below 200 bytes of all: everybody gets everything, and adds. A mean is one product behind it.
  // CHECK-LABEL: func.func @small(
  // CHECK: gantry.exchange all_gather {{.*}} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<12xf32>, tensor<12xf32>, tensor<12xf32>)
  // CHECK: gantry.add_rows {{.*}} : (tensor<3x4xf32>) -> tensor<4xf32>
  // CHECK: gantry.constant dense<0.333333343>
  // CHECK: gantry.mul {{.*}}task:0
  // CHECK-NOT: all_to_all
  func.func @small(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0:3 = gantry.all_reduce mean %a, %a, %a on ["/job:w/task:{0..2}/CPU:0"] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %0#0 : tensor<4xf32>
  }

  // The topology has no task 3: by slices and copies, as within a task.
  // CHECK-LABEL: func.func @absent(
  // CHECK-NOT: gantry.exchange
  // CHECK: return
  func.func @absent(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = gantry.all_reduce sum %a, %a on ["/job:w/task:0/CPU:0", "/job:w/task:3/CPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0 : tensor<4xf32>
  }

  // Within a task all is as before.
  // CHECK-LABEL: func.func @one_task(
  // CHECK-NEXT: gantry.add_n
  // CHECK-NEXT: gantry.add_n
  // CHECK-NEXT: return
  func.func @one_task(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = gantry.all_reduce sum %a, %a on ["/job:w/task:1/CPU:0", "/job:w/task:1/CPU:0"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Two GPUs of one task and one of another: the first GPU of a task brings the rows of all of them,
// those of each chunk one behind the other, and gives the sum to the others.
// CHECK-LABEL: func.func @unlike(
// CHECK-SAME: %[[A:.*]]: tensor<40xf32>, %[[B:.*]]: tensor<40xf32>, %[[C:.*]]: tensor<40xf32>
// CHECK: %[[J:.*]] = gantry.concat %[[A]], %[[B]] {{.*}}task:0/device:GPU:0
// CHECK: %[[M:.*]] = gantry.reshape %[[J]] : (tensor<80xf32>) -> tensor<2x40xf32>
// CHECK: %[[W:.*]] = gantry.slice %[[M]] {{.*}}sizes = array<i64: 2, 32>, starts = array<i64: 0, 0>
// CHECK: %[[W3:.*]] = gantry.reshape %[[W]] : (tensor<2x32xf32>) -> tensor<2x1x32xf32>
// CHECK: %[[T:.*]] = gantry.transpose %[[W3]] {{.*}}permutation = array<i64: 1, 0, 2>
// CHECK: %[[L:.*]] = gantry.slice %[[M]] {{.*}}sizes = array<i64: 2, 8>, starts = array<i64: 0, 32>
// CHECK: gantry.concat {{.*}} : (tensor<64xf32>, tensor<16xf32>) -> tensor<80xf32>
// CHECK: gantry.exchange all_to_all {{.*}} on ["/job:w/task:0/device:GPU:0", "/job:w/task:1/device:GPU:0"] rows [2, 1] : (tensor<80xf32>, tensor<40xf32>) -> (tensor<96xf32>, tensor<24xf32>)
// CHECK: gantry.add_rows {{.*}} : (tensor<3x32xf32>) -> tensor<32xf32>
// CHECK: gantry.add_rows {{.*}} : (tensor<3x8xf32>) -> tensor<8xf32>
// CHECK: %[[G:.*]]:2 = gantry.exchange all_gather
// CHECK: return %[[G]]#0, %[[G]]#0, %[[G]]#1

// Parts are added in their tree: rows are what devices have added up for themselves.
// CHECK-LABEL: func.func @parts(
// CHECK: gantry.add_n
// CHECK: gantry.exchange all_gather {{.*}} : (tensor<8xf32>, tensor<4xf32>) ->
// CHECK: gantry.add_rows {{.*}}parts = array<i64: 2, 1, 1>} : (tensor<3x4xf32>) -> tensor<4xf32>
#topology = #gantry.topology<[#gantry.device<"/job:w/replica:0/task:0/device:CPU:0">, #gantry.device<"/job:w/replica:0/task:0/device:GPU:0">, #gantry.device<"/job:w/replica:0/task:0/device:GPU:1">, #gantry.device<"/job:w/replica:0/task:1/device:CPU:0">, #gantry.device<"/job:w/replica:0/task:1/device:GPU:0">]>
module attributes {gantry.topology = #topology} {
  func.func @unlike(%a: tensor<40xf32>, %b: tensor<40xf32>, %c: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) {
    %0:3 = gantry.all_reduce sum %a, %b, %c on ["/job:w/task:0/GPU:{0..1}", "/job:w/task:1/GPU:0"] : (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>)
    return %0#0, %0#1, %0#2 : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
  }

  func.func @parts(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %s:4 = gantry.all_reduce sum tree %a, %b, %c, %d on ["/job:w/task:0/GPU:0", "/job:w/task:0/GPU:0", "/job:w/task:0/GPU:0", "/job:w/task:1/GPU:0"]
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %s#0, %s#3 : tensor<4xf32>, tensor<4xf32>
  }

  // The devices of a task do not follow each other, and so the rows would not be in the order of
  // the replicas: by slices and copies.
  // CHECK-LABEL: func.func @mixed(
  // CHECK-NOT: gantry.exchange
  // CHECK: return
  func.func @mixed(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0:3 = gantry.all_reduce sum %a, %a, %a on ["/job:w/task:0/GPU:0", "/job:w/task:1/GPU:0", "/job:w/task:0/GPU:1"] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    return %0#0 : tensor<4xf32>
  }
}

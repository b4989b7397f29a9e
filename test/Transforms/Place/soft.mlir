// Soft placement: what falls back, and the remark that says so.
// RUN: gantry-opt %s --gantry-place=soft=true -split-input-file -verify-diagnostics | FileCheck %s

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // CHECK-LABEL: @p5_flag
  func.func @p5_flag(%x: tensor<4xf32>) {
    // The id goes first, and the best of that type is taken.
    // CHECK: gantry.relu {{.*}}device:GPU:0">
    // expected-remark @below {{'Relu' falls back from '/job:localhost/replica:0/task:0/device:GPU:7' to '/job:localhost/replica:0/task:0/device:GPU:0': unknown device}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:7">} : (tensor<4xf32>) -> tensor<4xf32>
    // No kernel for the type of device: the type goes, too.
    // CHECK: tosa.sub {{.*}}device:CPU:0">
    // expected-remark @below {{'TosaSub' falls back from '/job:localhost/replica:0/task:0/device:GPU:1' to '/job:localhost/replica:0/task:0/device:CPU:0': no kernel for 'TosaSub' of f32}}
    %1 = tosa.sub %x, %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // What can be obeyed is.
    // CHECK: gantry.neg {{.*}}device:GPU:1">
    %2 = gantry.neg %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }

  // Two that must be together and ask for different devices: one gives way.
  // CHECK-LABEL: @p5_group
  func.func @p5_group(%x: tensor<4xf32>) {
    // CHECK: gantry.relu {{.*}}device:CPU:0">
    // CHECK: gantry.exp {{.*}}device:CPU:0">
    %0 = gantry.relu %x {gantry.device = #gantry.device<"CPU:0">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-remark @below {{'Exp' falls back from '/job:localhost/replica:0/task:0/device:GPU:1' to '/job:localhost/replica:0/task:0/device:CPU:0': what is stronger says otherwise}}
    %1 = gantry.exp %x {gantry.device = #gantry.device<"GPU:1">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }

  // An op or scope that says what it wants is not asked twice; `any` only breaks ties, in silence.
  // CHECK-LABEL: @p5_any
  func.func @p5_any(%x: tensor<4xf32>) {
    // CHECK: gantry.relu {{.*}}device:GPU:1">
    %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">, gantry.soft = #gantry<soft any>} : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: gantry.exp {{.*}}device:GPU:0">
    %1 = gantry.exp %x {gantry.device = #gantry.device<"CPU:0">, gantry.soft = #gantry<soft any>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }

  // Arguments and results soften like ops.
  // CHECK-LABEL: @p5_ends
  // CHECK-SAME: device:GPU:0">
  // expected-remark @below {{argument 0 falls back from '/job:localhost/replica:0/task:0/device:GPU:9' to '/job:localhost/replica:0/task:0/device:GPU:0': unknown device}}
  func.func @p5_ends(%x: tensor<4xf32> {gantry.device = #gantry.device<"GPU:9">}) {
    return
  }
}

// -----

// A machine without GPUs.
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">]>} {
  // CHECK-LABEL: @p5_host_only
  func.func @p5_host_only(%x: tensor<4xf32>) {
    // CHECK: gantry.relu {{.*}}device:CPU:0">
    // expected-remark @below {{'Relu' falls back from '/job:localhost/replica:0/task:0/device:GPU:7' to '/job:localhost/replica:0/task:0/device:CPU:0': unknown device}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:7">} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  // Neither job nor task is ever dropped; `strict` stays strict.
  func.func @p5_never_the_task(%x: tensor<4xf32>) {
    // expected-error @below {{'Relu' is placed on '/job:localhost/replica:0/task:1/device:GPU:0': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1}}
    %0 = gantry.relu %x {gantry.device = #gantry.device<"/task:1/device:GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @below {{'Exp' is placed on '/job:localhost/replica:0/task:0/device:GPU:5': unknown device}}
    %1 = gantry.exp %x {gantry.device = #gantry.device<"GPU:5">, gantry.soft = #gantry<soft strict>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

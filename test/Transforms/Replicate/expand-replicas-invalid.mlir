// RUN: gantry-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(gantry-expand-replicas))' --verify-diagnostics

func.func @batches(%x: tensor<6xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{'gantry.replicate' op splits inputs of 6 and of 4 rows; they need to be the same batch}}
  gantry.replicate (%x, %y) on ["GPU:0", "GPU:1"] takes [split 0, split 0] gives [] : (tensor<6xf32>, tensor<4xf32>) -> () {
  ^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @open(%x: tensor<?xf32>) {
  // expected-error @below {{'gantry.replicate' op splits 'tensor<?xf32>' along axis 0, whose size is not known}}
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<?xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    gantry.yield
  }
  return
}

// -----

func.func @baked(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0] : (tensor<6x4xf32>) -> tensor<6x4xf32> {
  ^bb0(%a: tensor<6x4xf32>):
    // expected-error @below {{does not fit a shard of 3 of 6 rows (replica 0): 'gantry.reshape' op input 'tensor<3x4xf32>' has 12 elements, result 'tensor<4x6xf32>' has 24; sizes have to follow from the batch: leave its dimension open when exporting the model (dynamic_axes of torch.onnx.export) and give it with --dim}}
    %0 = gantry.reshape %a : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %1 = gantry.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
    gantry.yield %1 : tensor<6x4xf32>
  }
  return %y : tensor<6x4xf32>
}

// -----

func.func @count(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  // expected-error @below {{'gantry.replicate' op result 0 is 'tensor<6x4xf32>', the replicas together give 'tensor<8x4xf32>'}}
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0] : (tensor<6x4xf32>) -> tensor<6x4xf32> {
  ^bb0(%a: tensor<?x4xf32>):
    %0 = gantry.matmul %a, %a {transpose_a} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
    gantry.yield %0 : tensor<4x4xf32>
  }
  return %y : tensor<6x4xf32>
}

// -----

func.func @mean(%x: tensor<6xi32>) -> tensor<i32> {
  // expected-error @below {{'gantry.replicate' op takes the mean of 'tensor<i32>'; only floating-point numbers have one}}
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [mean] : (tensor<6xi32>) -> tensor<i32> {
  ^bb0(%a: tensor<?xi32>):
    %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xi32>) -> tensor<i32>
    gantry.yield %0 : tensor<i32>
  }
  return %y : tensor<i32>
}

// -----

func.func @scope(%x: tensor<6xf32>) {
  gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [] : (tensor<6xf32>) -> () {
  ^bb0(%a: tensor<?xf32>):
    // expected-error @below {{has a gantry.all_reduce inside, which only branches, loops and gradients may have}}
    gantry.on "CPU:0" {
      %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      %1 = gantry.all_reduce sum %0 : (tensor<f32>) -> tensor<f32>
      gantry.yield
    }
    gantry.yield
  }
  return
}

// -----

// Both branches have to fit the shards.
func.func @branches(%x: tensor<6xf32>, %c: tensor<i1>) -> tensor<6xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0] : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    // expected-error @below {{'gantry.if' op else region must yield ('tensor<3xf32>', 'tensor<3xf32>'), yields ('tensor<6xf32>', 'tensor<6xf32>')}}
    %0 = gantry.if %c -> (tensor<6xf32>) {
      %1 = gantry.all_reduce sum %a : (tensor<6xf32>) -> tensor<6xf32>
      gantry.yield %1 : tensor<6xf32>
    } else {
      gantry.yield %x : tensor<6xf32>
    } : tensor<i1>
    gantry.yield %0 : tensor<6xf32>
  }
  return %y : tensor<6xf32>
}

// -----

func.func @empty_gradient(%x: tensor<1xf32>, %w: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-remark @below {{a batch of 1 over 2 replicas leaves GPU:1 without work; give fewer devices, or a larger batch}}
  %y:2 = gantry.replicate (%x, %w) on ["GPU:0", "GPU:1"] takes [split 0, broadcast] gives [per_replica] : (tensor<1xf32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<?xf32>, %v: tensor<f32>):
    // expected-error @below {{'gantry.gradient' op has a gantry.all_reduce inside, and replica 1 has no rows but uses a gradient; all-reduce the gradients}}
    %g:2 = gantry.gradient (%v) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %0 = gantry.mul %a, %b : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      %1 = gantry.reduce_sum %0 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      %2 = gantry.all_reduce sum %1 : (tensor<f32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    gantry.yield %g#1 : tensor<f32>
  }
  return %y#0, %y#1 : tensor<f32>, tensor<f32>
}

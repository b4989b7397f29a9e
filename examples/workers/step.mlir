// One step of gradient descent on a layer of 1024 x 1024, its batch split among all GPUs of all tasks;
// gradients are added up over all of them. What it would take, without any of the machines:
//
//   gantry explain examples/workers/step.mlir --topology=examples/workers/64x8.json --scaling=1,2,4
gantry.variable @w = dense<0.01> : tensor<1024x1024xf32>
func.func @train(%x: tensor<16384x1024xf32> {gantry.name = "x"},
                 %target: tensor<16384x1024xf32> {gantry.name = "target"})
    -> (tensor<f32> {gantry.name = "loss"}) {
  %rate = gantry.constant dense<-0.1> : tensor<f32>
  %mean = gantry.replicate (%x, %target) on ["/job:worker/task:*/GPU:*"]
      takes [split 0, split 0] gives [mean]
      : (tensor<16384x1024xf32>, tensor<16384x1024xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<?x1024xf32>, %t: tensor<?x1024xf32>):
    %w = gantry.read @w : tensor<1024x1024xf32>
    %p = gantry.matmul %a, %w : (tensor<?x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x1024xf32>
    %e = gantry.sub %p, %t : (tensor<?x1024xf32>, tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %s = gantry.mul %e, %e : (tensor<?x1024xf32>, tensor<?x1024xf32>) -> tensor<?x1024xf32>
    %loss = gantry.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<?x1024xf32>) -> tensor<f32>
    %at = gantry.transpose %a {permutation = array<i64: 1, 0>} : (tensor<?x1024xf32>) -> tensor<1024x?xf32>
    %g = gantry.matmul %at, %e : (tensor<1024x?xf32>, tensor<?x1024xf32>) -> tensor<1024x1024xf32>
    %sum = gantry.all_reduce mean %g {gantry.name = "grad"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %d = gantry.mul %sum, %rate : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
    gantry.assign_add @w, %d : tensor<1024x1024xf32>
    gantry.yield %loss : tensor<f32>
  }
  return %mean : tensor<f32>
}

// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-collectives))' --verify-diagnostics

func.func @mean(%a: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{'gantry.all_reduce' op takes the mean of 'tensor<4xi32>'; only floating-point numbers have one}}
  %0:2 = gantry.all_reduce mean %a, %a on ["GPU:0", "GPU:1"] : (tensor<4xi32>, tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>)
  return %0#0 : tensor<4xi32>
}
